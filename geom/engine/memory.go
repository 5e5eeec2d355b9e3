package engine

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// Fits returns an error where a computation takes more bytes of main memory than the process can still have, swap included, saying how much it
// takes and how much there is: what is free or can be freed at once, at most what its control group leaves it (the limit of a container or of a
// job on a cluster). It is nil where the computation fits, or the system does not tell. The memory of a GPU does not count. A function that allocates by its arguments asks before it does:
//
//	err := engine.Fits("2000 paths of 1e6 steps", 8*2000*1e6)
func Fits(what string, bytes float64) error {
	if has, known := available(os.DirFS("/")); known && !(bytes <= has) {
		return fmt.Errorf("%s: takes %s of memory, %s are available", what, size(bytes), size(has))
	}
	return nil
}

func size(bytes float64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	for bytes >= 999.5 && len(units) > 1 {
		bytes /= 1000
		units = units[1:]
	}
	return fmt.Sprintf("%.3g %s", bytes, units[0])
}

// available reads Linux's files of the memory and of control groups, versions 1 and 2, in a file system that begins at /.
func available(root fs.FS) (bytes float64, known bool) {
	memory := numbers(root, "proc/meminfo")
	free, known := memory["MemAvailable"]
	if !known {
		return 0, false
	}
	bytes, swap := 1024*free, 1024*memory["SwapFree"]
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(part) < 3 {
			continue
		}
		base, limit, usage := "sys/fs/cgroup", "memory.max", "memory.current"
		if part[1] == "memory" {
			base, limit, usage = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		} else if part[1] != "" {
			continue
		}
		// The limits of all groups around hold, too. In a container the path may be the host's: then the top is its own group.
		for group := path.Join("/", part[2]); ; group = path.Dir(group) {
			dir := path.Join(base, group)
			if most, limited := number(root, path.Join(dir, limit)); limited {
				used, _ := number(root, path.Join(dir, usage))
				files := numbers(root, path.Join(dir, "memory.stat")) // caches, which go when memory is wanted
				bytes = min(bytes, most-used+files["inactive_file"]+files["active_file"])
			}
			if most, limited := number(root, path.Join(dir, "memory.swap.max")); limited {
				used, _ := number(root, path.Join(dir, "memory.swap.current"))
				swap = min(swap, most-used)
			}
			if group == "/" {
				break
			}
		}
	}
	return max(bytes, 0) + max(swap, 0), true
}

// number reads a file of one number; "max" is none.
func number(root fs.FS, name string) (v float64, found bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	v, err = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return v, err == nil && !math.IsNaN(v)
}

// numbers reads a file of lines "name number" or "name: number unit".
func numbers(root fs.FS, name string) map[string]float64 {
	text, _ := fs.ReadFile(root, name)
	out := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if part := strings.Fields(line); len(part) >= 2 {
			if v, err := strconv.ParseFloat(part[1], 64); err == nil {
				out[strings.TrimSuffix(part[0], ":")] = v
			}
		}
	}
	return out
}
