package described

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// field appends a field of bytes.
func field(to []byte, number protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, number, protowire.BytesType), value)
}

func instructionOf(opcode, config string, calls ...uint64) string {
	var packed []byte
	for _, c := range calls {
		packed = protowire.AppendVarint(packed, c)
	}
	return string(field(field(field(nil, instructionOpcode, opcode), instruction, config), instructionCalls, string(packed)))
}

func computation(id uint64, instructions ...string) string {
	c := protowire.AppendVarint(protowire.AppendTag(nil, computationID, protowire.VarintType), id)
	for _, i := range instructions {
		c = field(c, computationInstructions, i)
	}
	return string(c)
}

// A loop of 5 turns with a body of two launches, whose condition XLA does not run, a branch of at most two, and one fusion: 5 · 2 + 2 + 1. Of a loop whose turns are
// not known the condition and the body count once, and it is told.
func TestLaunchesAreCounted(t *testing.T) {
	of := func(config string) *Program {
		var module []byte
		for _, c := range []string{
			computation(1, instructionOf("fusion", "")),
			computation(2, instructionOf("parameter", ""), instructionOf("fusion", ""), instructionOf("copy", "")),
			computation(3, instructionOf("tuple", "")),
			computation(4, instructionOf("while", config, 2, 1), instructionOf("conditional", "", 3, 2), instructionOf("fusion", "", 9)),
		} {
			module = field(module, moduleComputations, c)
		}
		module = protowire.AppendVarint(protowire.AppendTag(module, moduleEntry, protowire.VarintType), 4)
		return counted(field(nil, moduleOfConfigured, string(field(module, moduleName, "main"))))
	}
	if p := of(`{"known_trip_count":{"n":"5"}}`); p.Launches != 13 || p.Open || p.Kernels != 5 || p.Name != "main" {
		t.Errorf("%+v", p)
	}
	if p := of("{}"); p.Launches != 6 || !p.Open {
		t.Errorf("without the number of turns: %+v", p)
	}
}
