package mesh_test

import (
	"fmt"
	"os"
	"path/filepath"

	"anatomy/landmarks/surfaces/mesh"
)

// A surface some of whose triangles are inside out encloses no volume until they are turned round.
func ExampleMesh_Clean() {
	ball := mesh.Icosphere(2)
	for _, c := range ball.Cells[:5] {
		c[0], c[1] = c[1], c[0]
	}
	fmt.Println(ball.CheckOriented())
	done, err := ball.Clean()
	if err != nil {
		fmt.Println(err)
		return
	}
	volume, err := ball.Volume()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v: the volume is %.2f\n", done, volume)
	// Output:
	// 5 triangles are oriented against the rest (1.5 % of the size), the first 0 [42 0 44]; turn them round by Mesh.Clean, or take varifolds
	// turned 5 cells round (1.5 % of the size): the volume is 4.05
}

// A sphere without one triangle has a border of three edges, and a sphere that is turned inside out encloses a negative volume.
func ExampleMesh_Boundary() {
	ball := mesh.Icosphere(2)
	inside, err := ball.Flip().Volume()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("volume %.2f\n", inside)
	ball.Cells = ball.Cells[1:]
	fmt.Println("border:", ball.Boundary())
	// Output:
	// volume -4.05
	// border: [[0 44] [42 0] [44 42]]
}

// A movie for ParaView: a sphere that grows, with a number at every vertex; and its files, read back.
func ExampleWriteSequence() {
	folder, err := os.MkdirTemp("", "sequence")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	var moments []mesh.Moment
	for k := range 3 {
		ball := mesh.Ellipsoid(1+float64(k), 1+float64(k), 1+float64(k), 5, 8)
		height := make([]float64, len(ball.Vertices))
		for i, x := range ball.Vertices {
			height[i] = x[2]
		}
		moments = append(moments, mesh.Moment{Time: float64(k) / 2, Mesh: ball, Fields: []mesh.Field{mesh.Scalars("height", height)}})
	}
	path := filepath.Join(folder, "growing.pvd")
	if err := mesh.WriteSequence(path, moments); err != nil {
		fmt.Println(err)
		return
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "*.vtp"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, file := range files {
		points, _, fields, err := mesh.ReadFields(file)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(filepath.Base(file), fields[0].Name, len(points), "vertices")
	}
	// Output:
	// 0000.vtp height 42 vertices
	// 0001.vtp height 42 vertices
	// 0002.vtp height 42 vertices
}
