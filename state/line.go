package state

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"strconv"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The member that ends every line has a fixed length, so that a line is verified without being parsed.
const (
	sumBegin = `,"sum":"`
	sumEnd   = `"}`
	sumLen   = len(sumBegin) + 8 + len(sumEnd)
)

// seal ends the JSON object that begins at start of buf, and lacks its closing brace, with its checksum.
func seal(buf []byte, start int) []byte {
	buf = appendSum(buf, buf[start:])
	return append(buf, '\n')
}

func appendSum(dst, body []byte) []byte {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(body, castagnoli))
	dst = append(dst, sumBegin...)
	dst = hex.AppendEncode(dst, sum[:])
	return append(dst, sumEnd...)
}

// unseal returns what stands before the checksum of a line (without its newline), if that is right.
func unseal(line []byte) (body []byte, ok bool) {
	n := len(line) - sumLen
	if n < 0 {
		return nil, false
	}
	var end [sumLen]byte
	return line[:n], bytes.Equal(appendSum(end[:0], line[:n]), line[n:])
}

// sealJSON encodes a non-empty struct as a line with its checksum and a newline.
func sealJSON(v any) ([]byte, error) {
	line, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return seal(line[:len(line)-1], 0), nil
}

// appendLine appends a line, sealed and with its newline. It is on the path of every feed: Data is copied, not encoded.
func appendLine(buf []byte, l Line) []byte {
	start := len(buf)
	buf = append(buf, `{"feed":`...)
	buf = strconv.AppendInt(buf, l.Feed, 10)
	buf = append(buf, `,"url":`...)
	buf = appendString(buf, l.URL)
	buf = append(buf, `,"token":`...)
	buf = strconv.AppendInt(buf, l.Token, 10)
	buf = append(buf, `,"data":`...)
	buf = append(buf, l.Data...)
	return seal(buf, start)
}

// appendString appends a JSON string.
func appendString(buf []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // never fails for a string
			return append(buf, quoted...)
		}
	}
	buf = append(buf, '"')
	buf = append(buf, s...)
	return append(buf, '"')
}

var errShape = errors.New("not a result")

// parseLine reads what unseal returned of a line that appendLine wrote. Data is a copy.
func parseLine(body []byte) (l Line, err error) {
	rest := body
	if l.Feed, rest, err = cutInt(rest, `{"feed":`); err != nil {
		return l, err
	}
	if l.URL, rest, err = cutString(rest, `,"url":`); err != nil {
		return l, err
	}
	if l.Token, rest, err = cutInt(rest, `,"token":`); err != nil {
		return l, err
	}
	data, ok := bytes.CutPrefix(rest, []byte(`,"data":`))
	if !ok || !json.Valid(data) {
		return l, errShape
	}
	l.Data = bytes.Clone(data)
	return l, nil
}

func cutInt(line []byte, name string) (n int64, rest []byte, err error) {
	rest, ok := bytes.CutPrefix(line, []byte(name))
	end := bytes.IndexByte(rest, ',')
	if !ok || end < 0 {
		return 0, nil, errShape
	}
	if n, err = strconv.ParseInt(string(rest[:end]), 10, 64); err != nil {
		return 0, nil, errShape
	}
	return n, rest[end:], nil
}

func cutString(line []byte, name string) (s string, rest []byte, err error) {
	rest, ok := bytes.CutPrefix(line, []byte(name+`"`))
	if !ok {
		return "", nil, errShape
	}
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			quoted := line[len(name) : len(name)+1+i+1]
			err := json.Unmarshal(quoted, &s)
			return s, rest[i+1:], err
		}
	}
	return "", nil, errShape
}

func isResult(line []byte) bool { return bytes.HasPrefix(line, []byte(`{"feed":`)) }

func isClosing(line []byte) bool { return bytes.HasPrefix(line, []byte(`{"id":`)) }
