package zoo

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	// number is the function Number: whoever asks for a number says what to do.
	number = regexp.MustCompile(`(?ms)^func Number\(.*?^}$`)
	// sentinel matches an error that is compared with, or put into another one.
	sentinel = regexp.MustCompile(`(?m)^var [eE]rr\w* = .*$`)
	made     = regexp.MustCompile(`\b(errors\.New|\w+\.Errorf)\(("[^"]*")?`)
	advised  = regexp.MustCompile(`\b(Advise|[Rr]efuse(If|At)?)\(`)
)

// Messages checks that each error in source files ends in what to do: it is either made by Advise or wraps another one. There must be
// at least so many made by Advise.
func Messages(t *testing.T, least int, files ...string) {
	t.Helper()
	count := 0
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := sentinel.ReplaceAllString(number.ReplaceAllString(string(source), ""), "")
		count += len(advised.FindAllString(text, -1))
		for _, found := range made.FindAllStringSubmatch(text, -1) {
			if found[1] == "errors.New" || found[2] != "" && !strings.Contains(found[2], "%w") {
				t.Errorf("%s: the error says what, but not what to do: %s", name, found[0])
			}
		}
	}
	if count < least {
		t.Errorf("%d messages were seen", count)
	}
}
