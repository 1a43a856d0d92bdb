package crawl

import (
	"bytes"
	"encoding/json"
)

// encodeJSON does not escape HTML: it would make content up to six times as long.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // no value of a result is without JSON
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
