package engine

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"anatomy/internal/lists"
)

// Setting returns numbers that belong to a problem and not to the way it is computed, such as the widths of a kernel: a constant
// of the graph, of type float32 or float64 and the given dimensions (none for one number), which the compiled program takes
// as an input. Functions that differ in their settings alone are one program: where programs are kept, only the first of
// them is compiled.
func Setting(g *graph.Graph, dtype dtypes.DType, values []float64, dims ...int) *graph.Node {
	t := tensors.FromFlatDataAndDimensions(values, dims...)
	if dtype == dtypes.Float32 {
		t = tensors.FromFlatDataAndDimensions(narrow(values), dims...)
	}
	b := builderOf(g)
	if b == nil {
		return graph.ConstTensor(g, t)
	}
	b.setting = &setting{values: values, tensor: t}
	n := graph.ConstTensor(g, t)
	b.setting, b.fixed[n] = nil, true
	return n
}

// setting is one of a program, which takes the tensor as the input.
type setting struct {
	values []float64
	tensor *tensors.Tensor
	input  compute.Value // of main
}

func narrow(values []float64) []float32 {
	return lists.Each(values, func(v float64) float32 { return float32(v) })
}

// Constant makes an input of the program out of a setting, one for all that are equal.
func (f *function) Constant(flat any, dims ...int) (compute.Value, error) {
	b := f.b
	if b.setting == nil {
		return f.Function.Constant(flat, dims...)
	}
	shape := b.setting.tensor.Shape()
	i := slices.IndexFunc(b.settings, func(s *setting) bool {
		return s.tensor.Shape().Equal(shape) && slices.Equal(s.values, b.setting.values)
	})
	if i < 0 {
		i = len(b.settings)
		input, err := f.Function.Parameter(fmt.Sprintf("setting_%d", i), shape, nil)
		if err != nil {
			return nil, err
		}
		b.setting.input, b.settings = input, append(b.settings, b.setting)
	}
	return b.settings[i].input, nil
}
