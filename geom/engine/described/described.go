// Package described compiles programs for an NVIDIA GPU that is described and not there. It says whether XLA accepts a program, how many
// kernels it launches, how much memory it takes, and how long the compiler needs.
//
// The CUDA plug-in makes a topology from the text of a card's limits, and compiles for it. Kernels are not tuned, which needs the card.
package described

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "described.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"anatomy/geom/engine/internal/programs"
)

// Card is an NVIDIA GPU. The numbers are those of its data sheet; what XLA asks for beside them is the same for all.
type Card struct {
	Name                          string
	Major, Minor                  int     // its compute capability
	Cores                         int     // multiprocessors
	Clock                         float64 // GHz
	Bandwidth, Memory, L2         int64   // bytes per second; bytes
	SharedPerCore, SharedPerBlock int     // bytes
	ThreadsPerCore, FPUs          int
}

// Cards are one of each generation since 2018.
var Cards = []Card{
	{"T4", 7, 5, 40, 1.59, 320e9, 16e9, 4 << 20, 64 << 10, 64 << 10, 1024, 64},
	{"RTX A6000", 8, 6, 84, 1.8, 768e9, 48e9, 6 << 20, 100 << 10, 99 << 10, 1536, 128},
	{"H100", 9, 0, 132, 1.98, 3352e9, 80e9, 50 << 20, 228 << 10, 227 << 10, 2048, 128},
	{"B200", 10, 0, 148, 1.97, 8000e9, 180e9, 126 << 20, 228 << 10, 227 << 10, 2048, 128},
}

// text is the GpuTargetConfigProto of a card.
func (c Card) text() string {
	return fmt.Sprintf(`gpu_device_info { threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
shared_memory_per_core: %d threads_per_core_limit: %d core_count: %d fpus_per_core: %d block_dim_limit_x: 2147483647 block_dim_limit_y: 65535
block_dim_limit_z: 65535 memory_bandwidth: %d l2_cache_size: %d clock_rate_ghz: %g device_memory_size: %d
shared_memory_per_block_optin: %d cuda_compute_capability { major: %d minor: %d } registers_per_core_limit: 65536
registers_per_block_limit: 65536 } platform_name: "CUDA" dnn_version_info { major: 9 minor: 12 }
runtime_version { major: 13 minor: 1 patch: 0 } device_description_str: %q`,
		c.SharedPerCore, c.ThreadsPerCore, c.Cores, c.FPUs, c.Bandwidth, c.L2, c.Clock, c.Memory, c.SharedPerBlock, c.Major, c.Minor, c.Name)
}

// Open loads the plug-in of a folder into which `make gpu-compile` has installed it with NVIDIA's compiler. A process opens one, once, and
// its environment then says where the compiler is.
func Open(folder string) error {
	toolkit := filepath.Join(folder, "nvidia", "cu13")
	os.Setenv("PATH", filepath.Join(toolkit, "bin")+":"+os.Getenv("PATH"))
	os.Setenv("XLA_FLAGS", os.Getenv("XLA_FLAGS")+" "+programs.GPUFlag+" --xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false --xla_gpu_cuda_data_dir="+toolkit)
	return failed(func() *C.char {
		path := C.CString(filepath.Join(folder, "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so"))
		defer C.free(unsafe.Pointer(path))
		return C.anatomyOpen(path)
	}())
}

func failed(message *C.char) error {
	if message == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return errors.New(strings.TrimSpace(C.GoString(message)))
}

// Compiler compiles for one card.
type Compiler struct{ topology unsafe.Pointer }

// For describes a card to the plug-in, which is open.
func For(c Card) (*Compiler, error) {
	text, out := C.CString(c.text()), new(Compiler)
	defer C.free(unsafe.Pointer(text))
	return out, failed(C.anatomyDescribe(text, &out.topology))
}

// Program is what a compiler makes of one.
type Program struct {
	Name      string
	Launches  int     // of kernels and copies, in all turns of loops whose number the compiler knows; those of other loops count one turn
	Open      bool    // whether there are other loops
	Kernels   int     // different places that launch one
	Temporary int64   // bytes
	Seconds   float64 // that it took to compile
}

// Compile compiles a program that is given as StableHLO.
func (c *Compiler) Compile(code []byte) (*Program, error) {
	var out C.Compiled
	// CompileOptionsProto{executable_build_options: {num_replicas: 1, num_partitions: 1}}
	build := protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 1)
	build = protowire.AppendVarint(protowire.AppendTag(build, 5, protowire.VarintType), 1)
	options := protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), build)
	text, setting := C.CBytes(code), C.CBytes(options)
	defer C.free(text)
	defer C.free(setting)
	start := time.Now()
	err := failed(C.anatomyCompileFor(c.topology, (*C.char)(text), C.size_t(len(code)), (*C.char)(setting), C.size_t(len(options)), &out))
	defer C.free(unsafe.Pointer(out.module))
	if err != nil {
		return nil, err
	}
	p := counted(C.GoBytes(unsafe.Pointer(out.module), C.int(out.size)))
	p.Temporary, p.Seconds = int64(out.temporary), time.Since(start).Seconds()
	return p, nil
}

// message is a message of protocol buffers: the values of its fields by number, of strings and messages without their length.
type message map[protowire.Number][][]byte

func parse(b []byte) message {
	m := message{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(number, kind, b[max(n, 0):])
		if n < 0 || size < 0 {
			break
		}
		value := b[n : n+size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		m[number], b = append(m[number], value), b[n+size:]
	}
	return m
}

// integers are those of a field of integers, packed or not.
func (m message) integers(field protowire.Number) (all []uint64) {
	for b := slices.Concat(m[field]...); len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			break
		}
		all, b = append(all, v), b[n:]
	}
	return all
}

func (m message) text(field protowire.Number) string { return string(slices.Concat(m[field]...)) }

// Fields of XLA's hlo.proto.
const (
	moduleOfConfigured                               = 1
	moduleName, moduleComputations, moduleEntry      = 1, 3, 6
	computationInstructions, computationID           = 2, 5
	instructionOpcode, instructionCalls, instruction = 2, 38, 43 // the last: what the back end was told
	whileBody                                        = 0         // of the calls of a loop; the other is its condition
)

// turns is how often a loop runs, if the compiler knows it.
var turns = regexp.MustCompile(`"known_trip_count":\s*\{"n":\s*"(\d+)"`)

// counted counts the launches of an optimized module, an HloModuleProtoWithConfig.
func counted(configured []byte) *Program {
	module := parse([]byte(parse(configured).text(moduleOfConfigured)))
	p := &Program{Name: module.text(moduleName)}
	computations := map[uint64]message{}
	for _, b := range module[moduleComputations] {
		c := parse(b)
		if id := c.integers(computationID); len(id) > 0 {
			computations[id[0]] = c
		}
	}
	var launches func(id uint64) int
	launches = func(id uint64) (n int) {
		for _, b := range computations[id][computationInstructions] {
			i := parse(b)
			called := i.integers(instructionCalls)
			switch opcode := i.text(instructionOpcode); opcode {
			case "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "copy-done", "async-done", "partition-id", "replica-id":
			case "while":
				// The condition is evaluated where the compiler does not know the turns.
				if found := turns.FindStringSubmatch(i.text(instruction)); found != nil {
					times, _ := strconv.Atoi(found[1])
					n += times * launches(called[whileBody])
					continue
				}
				p.Open = true
				for _, c := range called {
					n += launches(c)
				}
			case "conditional":
				most := 0
				for _, c := range called {
					most = max(most, launches(c))
				}
				n += most
			case "call", "async-start":
				for _, c := range called {
					n += launches(c)
				}
			default: // a fusion, a copy, a call of a library
				n++
				p.Kernels++
			}
		}
		return n
	}
	p.Launches = launches(module.integers(moduleEntry)[0])
	return p
}
