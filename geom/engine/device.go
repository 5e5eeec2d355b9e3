package engine

import (
	"fmt"
	"os"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

var (
	opened compute.Backend // the process's back end
	small  compute.Backend // that of small problems, where opened is a GPU that nobody asked for; else nil
)

// fewNumbers is how many numbers the arguments of a small problem have at most. A geodesic of 39 landmarks, 156 numbers, takes a CPU 0.3 ms, and a
// GPU 0.5 ms for its 226 launches alone; its gradient 0.7 and 1.5 ms. From three times as many numbers on the GPU is faster.
const fewNumbers = 512

// isSmall reports whether a program for inputs of these shapes has a small problem.
func isSmall(inputs []shapes.Shape) bool {
	numbers := 0
	for _, s := range inputs {
		numbers += s.Size()
	}
	return numbers <= fewNumbers
}

// deviceOf is the back end of a program for arguments, which it brings there.
func deviceOf(in []*tensors.Tensor, inputs []shapes.Shape) (b compute.Backend, err error) {
	mu.Lock()
	defer mu.Unlock()
	if small == nil {
		return opened, nil
	}
	if b = opened; isSmall(inputs) {
		b = small
	}
	for _, t := range in {
		if on, e := t.Backend(); e == nil && on != nil && on != b && err == nil {
			err = t.ToLocal()
		}
	}
	return b, err
}

// openSmall opens the back end of small problems beside a GPU. Where there is none, all run on the GPU.
func openSmall() {
	if os.Getenv(compute.ConfigEnvVar) != "" || os.Getenv(deviceVariable) != "" || onCPU(opened) {
		return
	}
	if plugin, err := pluginFor("cpu"); err == nil {
		small, _ = open(plugin, configOf(plugin))
	}
}

// Devices says on what programs run; it is empty before the back end is opened.
func Devices() (text string) {
	mu.Lock()
	defer mu.Unlock()
	if opened != nil {
		text = opened.DeviceDescription(0)
	}
	if small != nil {
		text += fmt.Sprintf("; problems of at most %d numbers: %s", fewNumbers, small.DeviceDescription(0))
	}
	return text
}

// OnCPU reports whether the back end computes on a CPU, and not on a GPU. It is false before the back end is opened.
func OnCPU() bool { return onCPUFor(nil) }

// onCPUFor reports whether the program that x is part of is one for a CPU, with nil a program of a large problem.
func onCPUFor(x *graph.Node) bool {
	if x != nil {
		if b := builderOf(x.Graph()); b != nil {
			return b.cpu
		}
	}
	mu.Lock()
	defer mu.Unlock()
	return opened != nil && onCPU(opened)
}

func onCPU(b compute.Backend) bool {
	return isPlain(b) || strings.Contains(strings.ToLower(b.DeviceDescription(0)), "cpu")
}

// HasNative reports whether the program that x is part of can call a C function; with nil, whether programs of large problems can.
func HasNative(name string, x *graph.Node) bool {
	cpu := onCPUFor(x)
	mu.Lock()
	defer mu.Unlock()
	return cpu && entered[name]
}

// Plain reports whether the program that x is part of runs in plain Go, which compiles nothing.
func Plain(x *graph.Node) bool {
	b := builderOf(x.Graph())
	return b != nil && b.plain
}

// ForGPU reports whether the program that x is part of, or with nil that of a large problem, is written for a GPU, which takes microseconds to launch
// each loop that XLA makes of it: on one, and where programs are recorded to be compiled for one. A CPU is slower with such programs.
func ForGPU(x *graph.Node) bool {
	cpu := onCPUFor(x)
	mu.Lock()
	defer mu.Unlock()
	return opened != nil && (!cpu || os.Getenv(RecordVariable) != "")
}
