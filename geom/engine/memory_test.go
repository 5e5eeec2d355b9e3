package engine

import (
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/geomtest/expect"
)

func TestAvailable(t *testing.T) {
	const meminfo = "MemTotal:  100 kB\nMemAvailable:     50 kB\nSwapFree: 10 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
		known bool
	}{
		"nothing told": {nil, 0, false},
		"no limits":    {map[string]string{"proc/meminfo": meminfo}, 60 * 1024, true},
		"version 2, a limit around the group, caches": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "9000\n", "sys/fs/cgroup/a/memory.current": "5000\n",
			"sys/fs/cgroup/a/memory.stat": "anon 1\ninactive_file 100\nactive_file 20\n", "sys/fs/cgroup/a/memory.swap.max": "0\n"}, 4120, true},
		"version 1 in a container": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "9:cpu:/\n4:memory:/docker/0a1b\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9000\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1000\n"}, 8000 + 10*1024, true},
		"version 1 without a limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 60 * 1024, true},
		"more used than the limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "9000\n", "sys/fs/cgroup/memory.current": "9500\n", "sys/fs/cgroup/memory.swap.max": "0\n"}, 0, true},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, known := available(root); got != c.want || known != c.known {
			t.Errorf("%s: %g, %t, want %g, %t", name, got, known, c.want, c.known)
		}
	}
}

func TestFits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells how much memory there is")
	}
	if err := Fits("a little", 1000); err != nil {
		t.Error(err)
	}
	expect.Refused(t, Fits("2^40 paths", 8<<40), "2^40 paths: takes 8.8 TB of memory, ")
	// A program that would take what there is not is refused before it runs, and the process lives on.
	f := Compile(func(x *graph.Node) *graph.Node {
		d := graph.Sub(graph.InsertAxes(x, 0), graph.InsertAxes(x, 1))
		return graph.Einsum("ij,jk->i", d, graph.Exp(d))
	}, Name("all pairs"))
	expect.Refused(t, expect.Error(f.Call(make([]float64, 2_000_000))), "all pairs: ", "TB of memory")
	if _, err := f.Call(make([]float64, 3)); err != nil {
		t.Error(err)
	}
}
