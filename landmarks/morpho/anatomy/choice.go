package main

import (
	"fmt"
	"strings"
)

// choiceValue is a flag with some values only.
type choiceValue struct {
	value   *string
	allowed []string
}

func choice(value *string, allowed ...string) *choiceValue { return &choiceValue{value, allowed} }

func (v *choiceValue) String() string { return *v.value }
func (v *choiceValue) Type() string   { return "string" }
func (v *choiceValue) Set(s string) error {
	for _, a := range v.allowed {
		if s == a {
			*v.value = s
			return nil
		}
	}
	return fmt.Errorf("want %s", strings.Join(v.allowed, " or "))
}
