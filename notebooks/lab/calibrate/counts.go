package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"anatomy/geom/geomtest"
	"anatomy/geom/try"
)

// counted are the tests that draw fewer samples where they are run for every change.
const counted = "TestCalibration|TestMostProbablePathsToCallosa|TestMostProbablePathsToAnatomy|TestBridgeLikelihoodOnSphere|TestWindings|TestBrownianOnNonUnimodularGroup|TestGrowthRecovers|TestFactors"

var verdict = regexp.MustCompile(`^--- (\w+): (\w+) \(([\d.]+)s\)`)

// counts repeats tests with all of their samples. What they say of themselves stands in the table, and a failure is a row like others.
func counts(b *bench) {
	b.text("These tests take part of their samples in every run of the tests, and all of them here.")
	b.header("test", "result", "seconds", "message")
	c := exec.Command("go", "test", "-count=1", "-v", "-timeout=2h", "-run", "^("+counted+")$", "./geom/stochastic", "./geom/framebundle", "./geom/lie", "./geom/stats", "./geom/guided")
	c.Env = append(os.Environ(), geomtest.Full+"=1")
	out, failed := c.Output()
	if exit := (*exec.ExitError)(nil); failed != nil && !errors.As(failed, &exit) {
		try.Do(failed)
	}
	var says []string
	rows := 0
	for s := bufio.NewScanner(strings.NewReader(string(out))); s.Scan(); {
		line := s.Text()
		if m := verdict.FindStringSubmatch(line); m != nil {
			b.row("%s | %s | %s | %s", m[2], strings.ToLower(m[1]), m[3], strings.Join(says, "; "))
			says, rows = nil, rows+1
		} else if _, said, ok := strings.Cut(line, "_test.go:"); ok {
			_, said, _ = strings.Cut(said, ": ")
			says = append(says, said)
		}
	}
	if want := strings.Count(counted, "|") + 1; rows != want {
		try.Do(fmt.Errorf("%d of %d tests ran (%v)\n%s", rows, want, failed, out))
	}
}
