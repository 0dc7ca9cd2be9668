package photo

import (
	"errors"
	"fmt"
	"image"
)

// jpegDecoder decodes the coefficients of a JPEG (ITU-T T.81): sequential and progressive, Huffman-coded, 8 bits.
type jpegDecoder struct {
	data      []byte
	at        int
	maxPixels int

	w, h        int
	progressive bool
	parts       []part
	maxH, maxV  int
	across      int // MCUs
	down        int
	quant       [4]*[64]int32 // in zigzag order
	codes       [2][4]*prefixCode
	interval    int // MCUs between restarts; 0 for none
	jfif        bool
	adobe       int // transform of the Adobe marker; -1 for none
	scans       int
	bits        bitReader
}

// part is a component: grey, or one of Y, Cb and Cr.
type part struct {
	id, h, v, table int
	across, down    int // blocks, including the padding to whole MCUs
	wide, high      int // blocks that contain samples of the image
	coefficients    []int16
	quant           *[64]int32 // the table at the time of its first scan
	dc              int32
}

var (
	errOtherColours = errors.New("neither grey nor YCbCr")
	errBroken       = errors.New("the data is broken")
)

// maxScans limits the work that a small progressive file can cause.
const maxScans = 500

const (
	markSOF0, markSOF1, markSOF2 = 0xc0, 0xc1, 0xc2
	markDHT                      = 0xc4
	markRST0, markRST7           = 0xd0, 0xd7
	markEOI, markSOS             = 0xd9, 0xda
	markDQT, markDRI             = 0xdb, 0xdd
	markAPP0, markAPP14          = 0xe0, 0xee
)

func (d *jpegDecoder) decode() error {
	d.at = 2 // after SOI
	for {
		mark, err := d.marker()
		if err != nil {
			return err
		}
		if mark == markEOI {
			break
		}
		body, err := d.segment()
		if err != nil {
			return err
		}
		switch mark {
		case markSOF0, markSOF1, markSOF2:
			d.progressive = mark == markSOF2
			err = d.frame(body)
		case markDHT:
			err = d.huffman(body)
		case markDQT:
			err = d.quantization(body)
		case markDRI:
			if len(body) < 2 {
				return errTruncated
			}
			d.interval = int(body[0])<<8 | int(body[1])
		case markSOS:
			err = d.scan(body)
		case markAPP0:
			d.jfif = d.jfif || len(body) >= 5 && string(body[:5]) == "JFIF\x00"
		case markAPP14:
			if len(body) >= 12 && string(body[:5]) == "Adobe" {
				d.adobe = int(body[11])
			}
		}
		if err != nil {
			return err
		}
	}
	if d.scans == 0 {
		return fmt.Errorf("no scan: %w", errBroken)
	}
	for i := range d.parts {
		if d.parts[i].quant == nil {
			return fmt.Errorf("component %d has no scan: %w", i, errBroken)
		}
	}
	return nil
}

// marker skips to the next marker. It ignores bytes between segments, and restart markers.
func (d *jpegDecoder) marker() (int, error) {
	for ; d.at+1 < len(d.data); d.at++ {
		m := int(d.data[d.at+1])
		if d.data[d.at] == 0xff && m != 0 && m != 0xff && (m < markRST0 || m > markRST7) {
			d.at += 2
			return m, nil
		}
	}
	return 0, errTruncated
}

// segment returns the bytes of a marker's segment, without its length.
func (d *jpegDecoder) segment() ([]byte, error) {
	if d.at+2 > len(d.data) {
		return nil, errTruncated
	}
	n := int(d.data[d.at])<<8 | int(d.data[d.at+1])
	if n < 2 || d.at+n > len(d.data) {
		return nil, errTruncated
	}
	body := d.data[d.at+2 : d.at+n]
	d.at += n
	return body, nil
}

func (d *jpegDecoder) frame(b []byte) error {
	switch {
	case d.parts != nil:
		return fmt.Errorf("two frames: %w", errBroken)
	case len(b) < 6 || len(b) < 6+3*int(b[5]):
		return errTruncated
	case b[0] != 8:
		return fmt.Errorf("%d bits a sample, want 8", b[0])
	}
	d.h, d.w = int(b[1])<<8|int(b[2]), int(b[3])<<8|int(b[4])
	if err := bearable(image.Config{Width: d.w, Height: d.h}, d.maxPixels); err != nil {
		return err
	}
	d.maxH, d.maxV = 1, 1
	for i := range int(b[5]) {
		c := b[6+3*i:]
		p := part{id: int(c[0]), h: int(c[1] >> 4), v: int(c[1] & 15), table: int(c[2])}
		if p.h < 1 || p.h > 4 || p.v < 1 || p.v > 4 || p.table > 3 {
			return fmt.Errorf("component %d: %w", i, errBroken)
		}
		d.maxH, d.maxV = max(d.maxH, p.h), max(d.maxV, p.v)
		d.parts = append(d.parts, p)
	}
	if n := len(d.parts); n != 1 && (n != 3 || !d.isYCbCr()) {
		return errOtherColours
	}
	if len(d.parts) == 1 { // sampling factors are irrelevant
		d.parts[0].h, d.parts[0].v, d.maxH, d.maxV = 1, 1, 1, 1
	}
	d.across, d.down = ceilDiv(d.w, 8*d.maxH), ceilDiv(d.h, 8*d.maxV)
	for i := range d.parts {
		p := &d.parts[i]
		if d.maxH%p.h != 0 || d.maxV%p.v != 0 {
			return errOtherColours // fractional ratios
		}
		p.across, p.down = d.across*p.h, d.down*p.v
		p.wide, p.high = ceilDiv(ceilDiv(d.w*p.h, d.maxH), 8), ceilDiv(ceilDiv(d.h*p.v, d.maxV), 8)
		p.coefficients = make([]int16, 64*p.across*p.down)
	}
	return nil
}

// isYCbCr decides by the same rules as libjpeg.
func (d *jpegDecoder) isYCbCr() bool {
	switch p := d.parts; {
	case d.jfif:
		return true
	case d.adobe >= 0:
		return d.adobe != 0
	default:
		return !(p[0].id == 'R' && p[1].id == 'G' && p[2].id == 'B')
	}
}

func (d *jpegDecoder) quantization(b []byte) error {
	for len(b) > 0 {
		id, wide := b[0]&15, b[0]>>4 != 0
		n := 1 + 64
		if wide {
			n += 64
		}
		if id > 3 || len(b) < n {
			return fmt.Errorf("quantization table %d: %w", id, errBroken)
		}
		var t [64]int32
		for k := range t {
			if wide {
				t[k] = int32(b[1+2*k])<<8 | int32(b[2+2*k])
			} else {
				t[k] = int32(b[1+k])
			}
		}
		d.quant[id], b = &t, b[n:]
	}
	return nil
}

func (d *jpegDecoder) huffman(b []byte) error {
	for len(b) > 0 {
		if len(b) < 17 || b[0]>>4 > 1 || b[0]&15 > 3 {
			return fmt.Errorf("code table: %w", errBroken)
		}
		var counts [16]int
		n := 0
		for i := range counts {
			counts[i] = int(b[1+i])
			n += counts[i]
		}
		if len(b) < 17+n {
			return fmt.Errorf("code table: %w", errBroken)
		}
		c, err := newPrefixCode(counts, b[17:17+n])
		if err != nil {
			return err
		}
		d.codes[b[0]>>4][b[0]&15], b = c, b[17+n:]
	}
	return nil
}
