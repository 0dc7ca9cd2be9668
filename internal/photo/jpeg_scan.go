package photo

import "fmt"

// scan describes one scan, which contains coefficients first to last of its components in zigzag order: bit low and all higher bits
// or, if refine is set, only bit low, because earlier scans contained the higher bits.
type scan struct {
	first, last, low int
	refine           bool
	run              int // remaining blocks without further coefficients
}

func (d *jpegDecoder) scan(b []byte) error {
	if d.scans++; d.scans > maxScans {
		return fmt.Errorf("more than %d scans", maxScans)
	}
	if len(b) < 1 || len(b) < 4+2*int(b[0]) || b[0] < 1 || int(b[0]) > len(d.parts) {
		return fmt.Errorf("scan: %w", errBroken)
	}
	n := int(b[0])
	parts := make([]*part, n)
	tables := make([][2]*prefixCode, n)
	for i := range parts {
		for k := range d.parts {
			if d.parts[k].id == int(b[1+2*i]) {
				parts[i] = &d.parts[k]
			}
		}
		dc, ac := b[2+2*i]>>4, b[2+2*i]&15
		if parts[i] == nil || dc > 3 || ac > 3 {
			return fmt.Errorf("scan of component %d: %w", b[1+2*i], errBroken)
		}
		tables[i] = [2]*prefixCode{d.codes[0][dc], d.codes[1][ac]}
		if parts[i].quant == nil {
			if parts[i].quant = d.quant[parts[i].table]; parts[i].quant == nil {
				return fmt.Errorf("a quantization table is missing: %w", errBroken)
			}
		}
	}
	s := &scan{last: 63}
	if d.progressive {
		s.first, s.last, s.low, s.refine = int(b[1+2*n]), int(b[2+2*n]), int(b[3+2*n]&15), b[3+2*n]>>4 != 0
		if s.first > s.last || s.last > 63 || s.low > 13 || s.first == 0 && s.last != 0 || s.first > 0 && n > 1 {
			return fmt.Errorf("scan of coefficients %d to %d: %w", s.first, s.last, errBroken)
		}
	}
	d.bits = bitReader{data: d.data, at: d.at}
	if err := d.blocks(s, parts, tables); err != nil {
		return err
	}
	d.at = d.bits.at
	return nil
}

// blocks visits the blocks of a scan in order: by MCU with several components, else by row.
func (d *jpegDecoder) blocks(s *scan, parts []*part, tables [][2]*prefixCode) error {
	across, down := d.across, d.down
	if len(parts) == 1 {
		across, down = parts[0].wide, parts[0].high
	}
	for m := range across * down {
		if d.interval > 0 && m%d.interval == 0 {
			if err := d.restart(s, m > 0, m/d.interval-1); err != nil {
				return err
			}
		} else if m == 0 {
			_ = d.restart(s, false, 0)
		}
		x, y := m%across, m/across
		for i, p := range parts {
			if len(parts) == 1 {
				if err := d.block(s, p, y*p.across+x, tables[0]); err != nil {
					return err
				}
				continue
			}
			for k := range p.h * p.v {
				at := (y*p.v+k/p.h)*p.across + x*p.h + k%p.h
				if err := d.block(s, p, at, tables[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// restart resets the decoder at the start of a scan or, if marked is set, reads restart marker number k and resets the decoder.
func (d *jpegDecoder) restart(s *scan, marked bool, k int) error {
	s.run = 0
	for i := range d.parts {
		d.parts[i].dc = 0
	}
	if !marked {
		return nil
	}
	at := d.bits.at
	if at+2 > len(d.data) || d.data[at] != 0xff || int(d.data[at+1]) != markRST0+k%8 {
		return fmt.Errorf("restart marker %d is missing: %w", k%8, errBroken)
	}
	d.bits = bitReader{data: d.data, at: at + 2}
	return nil
}

func (d *jpegDecoder) block(s *scan, p *part, at int, t [2]*prefixCode) error {
	b := (*[64]int16)(p.coefficients[64*at:])
	k := s.first
	if k == 0 {
		if err := d.level(s, p, b, t[0]); err != nil {
			return err
		}
		k = 1
	}
	switch {
	case k > s.last:
		return nil
	case s.refine:
		return d.refine(s, b, k, t[1])
	case s.run > 0:
		s.run--
		return nil
	}
	for ; k <= s.last; k++ {
		v, err := d.bits.symbol(t[1])
		if err != nil {
			return err
		}
		zeros, size := v>>4, v&15
		if size == 0 {
			if zeros == 15 {
				k += 15
				continue
			}
			return d.endRun(s, zeros)
		}
		if k += zeros; k > s.last {
			return fmt.Errorf("more than 64 coefficients: %w", errBroken)
		}
		c, err := d.bits.signed(size)
		if err != nil {
			return err
		}
		b[k] = int16(c << s.low)
	}
	return nil
}

// level decodes the first coefficient (DC): its difference from the previous block of the component or, in a refining scan, one more
// bit of it.
func (d *jpegDecoder) level(s *scan, p *part, b *[64]int16, t *prefixCode) error {
	if s.refine {
		bit, err := d.bits.take(1)
		b[0] |= int16(bit << s.low)
		return err
	}
	size, err := d.bits.symbol(t)
	if err != nil {
		return err
	}
	if size > 15 {
		return fmt.Errorf("a difference of %d bits: %w", size, errBroken)
	}
	diff, err := d.bits.signed(size)
	p.dc += diff
	b[0] = int16(p.dc << s.low)
	return err
}

// endRun reads the number of blocks after this one that have no further coefficients: 2^size - 1 plus a number of size bits.
func (d *jpegDecoder) endRun(s *scan, size int) error {
	more, err := d.bits.take(size)
	s.run = 1<<size - 1 + int(more)
	return err
}

// refine reads one more bit of each nonzero coefficient, and the coefficients that become 1 or -1 (T.81, G.1.2.3).
func (d *jpegDecoder) refine(s *scan, b *[64]int16, k int, t *prefixCode) error {
	delta := int16(1) << s.low
	for s.run == 0 && k <= s.last {
		v, err := d.bits.symbol(t)
		if err != nil {
			return err
		}
		zeros, size := v>>4, v&15
		fresh := int16(0)
		switch {
		case size > 1:
			return fmt.Errorf("a coefficient of %d bits: %w", size, errBroken)
		case size == 1:
			bit, err := d.bits.take(1)
			if err != nil {
				return err
			}
			if fresh = -delta; bit == 1 {
				fresh = delta
			}
		case zeros < 15:
			if err := d.endRun(s, zeros); err != nil {
				return err
			}
			s.run++ // this block included
			zeros = -1
		}
		if zeros < 0 {
			break
		}
		if k, err = d.correct(s, b, k, zeros, delta); err != nil {
			return err
		}
		if fresh != 0 {
			if k > s.last {
				return fmt.Errorf("more than 64 coefficients: %w", errBroken)
			}
			b[k] = fresh
		}
		k++
	}
	if s.run > 0 {
		s.run--
		_, err := d.correct(s, b, k, -1, delta)
		return err
	}
	return nil
}

// correct reads one bit for each nonzero coefficient from k on, and skips this many zero coefficients. It returns the index of the
// next zero coefficient, or last+1 at the end of the scan's coefficients.
func (d *jpegDecoder) correct(s *scan, b *[64]int16, k, zeros int, delta int16) (int, error) {
	for ; k <= s.last; k++ {
		if b[k] == 0 {
			if zeros == 0 {
				break
			}
			zeros--
			continue
		}
		bit, err := d.bits.take(1)
		if err != nil {
			return k, err
		}
		if bit == 1 && b[k]&delta == 0 {
			if b[k] > 0 {
				b[k] += delta
			} else {
				b[k] -= delta
			}
		}
	}
	return k, nil
}
