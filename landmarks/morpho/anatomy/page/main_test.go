package main

import (
	"regexp"
	"strings"
	"testing"

	"anatomy/landmarks/morpho/supplement"
)

// The page has one field for each question of the program, and no place is left without its field.
func TestEachQuestionHasItsField(t *testing.T) {
	source, err := sources.ReadFile("index.html")
	if err != nil {
		t.Fatal(err)
	}
	page := form(string(source))
	for _, i := range supplement.Questions {
		if i.Everywhere() && strings.Count(page, `data-flag="`+i.Name+`"`) != 1 {
			t.Errorf("the question %s has no field of its own", i.Name)
		}
	}
	if left := regexp.MustCompile(`@[\w-]+@`).FindAllString(page, -1); len(left) > 1 { // @program@ is the program itself
		t.Errorf("%q are no questions", left)
	}
}
