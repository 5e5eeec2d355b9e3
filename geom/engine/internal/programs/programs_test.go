package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Of 1.2 GB the older files go until half a gigabyte is left.
func TestPrune(t *testing.T) {
	folder = t.TempDir()
	for i := range 12 {
		path := filepath.Join(folder, fmt.Sprint(i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 100<<20); err != nil { // takes no room on the disk
			t.Fatal(err)
		}
		used := time.Unix(int64(1000+i*7%12), 0)
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
	prune()
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) != 5 {
		t.Fatalf("%d files are left, error %v", len(left), err)
	}
	for _, path := range left {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.ModTime().Unix() < 1007 {
			t.Errorf("%s is kept, younger ones are not", path)
		}
	}
}
