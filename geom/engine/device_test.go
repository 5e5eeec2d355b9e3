package engine

import (
	"testing"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/geomtest/expect"
)

// described is a back end of which nothing but the description of its device is known.
type described struct {
	compute.Backend
	device string
}

func (b described) DeviceDescription(compute.DeviceNum) string { return b.device }

// The device says what it is, and not the path of the plug-in: no C function is entered on a GPU, whatever its plug-in is called.
func TestDeviceIsAsked(t *testing.T) {
	real := expect.Must(Backend())
	if !onCPU(real) {
		t.Skip("the back end computes on no CPU")
	}
	for _, device := range []string{"NVIDIA H200", "cuda:0", "gfx942", "TPU v4", ""} {
		if onCPU(described{device: device}) {
			t.Errorf("%q is taken for a CPU", device)
		}
	}
	plugin := expect.Must(FindPlugin())
	const name = "a function of this test"
	RegisterNative(name, unsafe.Pointer(new(int)))
	defer func() { delete(natives, name); delete(entered, name) }()
	enterNatives(described{device: "NVIDIA H200"}, plugin)
	if HasNative(name) {
		t.Error("a C function was entered on a GPU")
	}
}

// Points that are centred before they become float32 lose nothing far away from the origin: 1/|x − y|² of points 1e6 away.
func TestFloat32OfPoints(t *testing.T) {
	f := Compile(func(x, y *graph.Node) *graph.Node {
		return graph.Reciprocal(graph.ReduceSum(graph.Square(graph.Sub(x, y)), -1))
	}, Float32(0, 1))
	for _, offset := range []float64{0, 1e4, 1e6, -1e9} {
		x, y := [][]float64{{offset, 1}, {offset + 0.25, 2}}, [][]float64{{offset + 0.5, 0}, {offset + 1, 4}}
		out := expect.Must(f.Call(x, y))
		expect.Rel(t, "inverse squares", out.Vector(0), []float64{1 / 1.25, 1 / 4.5625}, 1e-6)
	}
	_, err := f.Call([]float64{1, 2}, [][]float64{{1, 2}})
	expect.Refused(t, err, "argument 0 of shape [2], want points")
	_, err = Compile(func(x *graph.Node) *graph.Node { return x }, Float32(1)).Call([][]float64{{1}})
	expect.Refused(t, err, "Float32(1): want the numbers of arguments, 0 to 0")
}
