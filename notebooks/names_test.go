package notebooks

import (
	"go/scanner"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Limits of what a newcomer meets. The paper prints its nine listings in 59 lines.
const (
	mostNames   = 150 // different names of packages, fields and methods in lessons 1.1 to 1.4
	mostListing = 20  // lines of a listing of the paper
	mostPaper   = 90  // lines of all
)

// sources returns the cells of code of a notebook that have a tag, or all for "".
func sources(t *testing.T, path, tag string) (all []string) {
	t.Helper()
	for _, c := range cells(t, path) {
		if c.Type == "code" && (tag == "" || slices.Contains(c.Metadata.Tags, tag)) {
			all = append(all, strings.Join(c.Source, ""))
		}
	}
	return all
}

// names adds the exported names in a cell: "fmt.Sprintf" of a package, ".Length" of a field or method, "Square" of GoMLX, which lessons import by
// a dot. Names that the cell declares do not count.
func names(source string, found map[string]bool) {
	source = regexp.MustCompile(`(?m)^%.*$`).ReplaceAllString(source, "")
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(source)), []byte(source), func(token.Position, string) {}, 0)
	type word struct {
		kind token.Token
		text string
	}
	words := []word{{}, {}, {}}
	for {
		_, kind, text := s.Scan()
		if words = append(words, word{kind, text}); kind == token.EOF {
			break
		}
	}
	words = slices.DeleteFunc(words, func(w word) bool { return w.kind == token.SEMICOLON })
	own := map[string]bool{}
	for i := 3; i < len(words)-1; i++ {
		switch before := words[i-1]; {
		case slices.Contains([]token.Token{token.FUNC, token.VAR, token.CONST, token.TYPE}, before.kind), words[i+1].kind == token.DEFINE,
			words[i+1].kind == token.COMMA && words[i+3].kind == token.DEFINE:
			own[words[i].text] = true
		}
	}
	lower := func(w word) bool { return w.kind == token.IDENT && !token.IsExported(w.text) }
	for i := 3; i < len(words)-1; i++ {
		w := words[i]
		switch before := words[i-1].kind; {
		case w.kind != token.IDENT || !token.IsExported(w.text):
		case before == token.PERIOD && lower(words[i-2]) && words[i-3].kind != token.PERIOD && imported[words[i-2].text]:
			found[words[i-2].text+"."+w.text] = true
		case before == token.PERIOD, words[i+1].kind == token.COLON && len(w.text) > 1, words[i+1].kind == token.COLON && before == token.LBRACE:
			found["."+w.text] = true
		case !own[w.text] && len(w.text) > 1: // single letters are those of formulas
			found[w.text] = true
		}
	}
}

// imported are the packages that lessons 1.1 to 1.4 name.
var imported = func() map[string]bool {
	all := map[string]bool{}
	for p := range strings.FieldsSeq(`autodiff color engine errors floats fmt framebundle geom kernels landmarks linalg linear manifold math mat
		morpho nb ode optimize rand shape slices stats stochastic strings time viz`) {
		all[p] = true
	}
	return all
}()

// TestFewNames counts the names that a reader of the first four lessons meets.
func TestFewNames(t *testing.T) {
	found := map[string]bool{}
	for _, lesson := range []string{"1-1_landmarks", "1-2_geodesics", "1-3_transport", "1-4_means"} {
		before := len(found)
		for _, source := range sources(t, lesson+".ipynb", "") {
			names(source, found)
		}
		t.Logf("%s: %d new names", lesson, len(found)-before)
	}
	if len(found) > mostNames {
		t.Errorf("lessons 1.1 to 1.4 have %d different names, want at most %d: %s", len(found), mostNames,
			strings.Join(slices.Sorted(maps.Keys(found)), " "))
	}
}

// TestPaperListings counts the lines of the listings that have a twin in the paper, without comments and blank lines.
func TestPaperListings(t *testing.T) {
	comment := regexp.MustCompile(`\s*//.*`)
	count, total := 0, 0
	for _, lesson := range []string{"1-2_geodesics", "1-3_transport", "1-4_means", "1-5_development",
		"1-6_brownian_motion", "1-7_frame_bundle_mean"} {
		for _, source := range sources(t, lesson+".ipynb", "paper") {
			lines := 0
			for line := range strings.SplitSeq(source, "\n") {
				if strings.TrimSpace(comment.ReplaceAllString(line, "")) != "" {
					lines++
				}
			}
			t.Logf("%s: %d lines, %s", lesson, lines, strings.SplitN(source, "\n", 2)[0])
			if count, total = count+1, total+lines; lines > mostListing {
				t.Errorf("%s: a listing of %d lines, want at most %d:\n%s", lesson, lines, mostListing, source)
			}
		}
	}
	if count != 9 || total > mostPaper {
		t.Errorf("%d listings of %d lines, want the paper's 9 in at most %d", count, total, mostPaper)
	}
}
