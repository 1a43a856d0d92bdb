// Crawl keeps a database of everything that a list of web feeds publishes. See README.md.
package main

import (
	"os"

	"crawl/cmd"
)

func main() { os.Exit(cmd.Main()) }
