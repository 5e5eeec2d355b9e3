package main

import (
	"strings"
	"testing"

	"anatomy/landmarks/morpho/supplement"
)

// The page has one field for each question of the program.
func TestEachQuestionHasItsField(t *testing.T) {
	source, err := sources.ReadFile("index.html")
	if err != nil {
		t.Fatal(err)
	}
	page := form(string(source))
	for _, i := range supplement.Questions {
		if i.Step < supplement.ToDeform && strings.Count(page, `data-flag="`+i.Name+`"`) != 1 {
			t.Errorf("the question %s has no field of its own", i.Name)
		}
	}
}
