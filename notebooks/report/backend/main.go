// Command backend prints with what computations run here, three lines: the path of the plug-in, the description of the
// back end, that of the device.
package main

import (
	"fmt"
	"log"
	"os"

	"anatomy/geom/engine"
)

func main() {
	b, err := engine.Backend()
	if err != nil {
		log.Fatal(err)
	}
	plugin := os.Getenv("GOMLX_BACKEND")
	if plugin == "" {
		if plugin, err = engine.FindPlugin(); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%s\n%s\n%s\n", plugin, b.Description(), b.DeviceDescription(0))
}
