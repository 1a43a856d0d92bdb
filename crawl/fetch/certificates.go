package fetch

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// certificates holds what encoded sessions have in common, the certificates of issuers above all, once. It need not know the
// encoding: whatever looks like a certificate is taken out, and put back exactly.
type certificates struct {
	all   [][]byte
	index map[[sha256.Size]byte]uint64
	size  int // bytes of all
}

func newCertificates() certificates { return certificates{index: map[[sha256.Size]byte]uint64{}} }

// pack puts numbers in the place of certificates: pieces, each its length, its bytes, and the number of the certificate that
// follows it, counted from 1; 0 ends.
func (c *certificates) pack(encoded []byte) []byte {
	var packed []byte
	for {
		at, end := findCertificate(encoded)
		packed = binary.AppendUvarint(packed, uint64(at))
		packed = append(packed, encoded[:at]...)
		if at == end {
			return slices.Clip(binary.AppendUvarint(packed, 0))
		}
		packed = binary.AppendUvarint(packed, c.number(encoded[at:end])+1)
		encoded = encoded[end:]
	}
}

func (c *certificates) number(der []byte) uint64 {
	sum := sha256.Sum256(der)
	n, ok := c.index[sum]
	if !ok {
		n = uint64(len(c.all))
		der = slices.Clone(der)
		c.all = append(c.all, der)
		c.index[sum] = n
		c.size += len(der)
	}
	return n
}

// findCertificate gives the place of the first ASN.1 sequence of at least 256 bytes that has its own length in three bytes before it;
// the end twice if there is none.
func findCertificate(b []byte) (at, end int) {
	for at := 3; at+4 <= len(b); at++ {
		if b[at] != 0x30 || b[at+1] != 0x82 {
			continue
		}
		length := 4 + int(binary.BigEndian.Uint16(b[at+2:]))
		before := int(b[at-3])<<16 | int(binary.BigEndian.Uint16(b[at-2:]))
		if length == before && length > 256 && at+length <= len(b) {
			return at, at + length
		}
	}
	return len(b), len(b)
}

// unpack undoes pack; false if packed is not what that made.
func (c *certificates) unpack(packed []byte) ([]byte, bool) {
	encoded := make([]byte, 0, maxSession/2)
	for {
		length, n := binary.Uvarint(packed)
		if n <= 0 || length > uint64(len(packed)-n) {
			return nil, false
		}
		encoded = append(encoded, packed[n:n+int(length)]...)
		packed = packed[n+int(length):]
		which, n := binary.Uvarint(packed)
		if n <= 0 || which > uint64(len(c.all)) || len(encoded) > maxSession {
			return nil, false
		}
		if which == 0 {
			return encoded, true
		}
		encoded = append(encoded, c.all[which-1]...)
		packed = packed[n:]
	}
}
