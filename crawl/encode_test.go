package crawl

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"crawl/store"
)

// TestEncodeRow: whatever the fields of a result, it reads back as what encoding/json wrote of it does. Fields that are new are seen.
func TestEncodeRow(t *testing.T) {
	texts := []string{"", "a", `"quoted\"`, "日本語\u2028", "<a href='&'>", "line\nend\x00\x7f", "cut \xff\xe3\x81"}
	lists := map[string]bool{"Items": true, "Document": true, "Keys": true}
	random := rand.New(rand.NewPCG(1, 2))
	var fill func(v reflect.Value, odds int)
	fill = func(v reflect.Value, odds int) {
		for i := range v.NumField() {
			f := v.Field(i)
			switch {
			case lists[v.Type().Field(i).Name] || odds > 0 && random.IntN(odds) == 0:
			case f.Type() == reflect.TypeFor[time.Time]():
				zone := time.FixedZone("", 60*(random.IntN(1440)-720))
				f.Set(reflect.ValueOf(time.Unix(random.Int64N(4e9), random.Int64N(1e9)).In(zone)))
			case f.Kind() == reflect.Struct:
				fill(f, odds)
			case f.Kind() == reflect.String:
				f.SetString(texts[random.IntN(len(texts))])
			case f.Kind() == reflect.Bool:
				f.SetBool(true)
			default:
				f.SetInt(random.Int64() - 1<<62)
			}
		}
	}
	for n := range 2000 {
		var r, got, want store.Result
		fill(reflect.ValueOf(&r).Elem(), n%3) // of which 0 fills every field
		if err := json.Unmarshal(encodeJSON(&r), &want); err != nil {
			t.Fatal(err)
		}
		line := encodeRow(&r)
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s reads as\n%+v, not as\n%+v", line, got, want)
		}
	}
}
