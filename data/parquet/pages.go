package parquet

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxPage limits the decoded size of a page in bytes. Writers create pages of about a mebibyte; the format allows two gibibytes.
const maxPage = 1 << 30

// checkPages checks the pages of the wanted columns of a row group, and returns an error for pages that the library could not decode in
// bounded memory. The library trusts the sizes in page headers, and with some codecs it grows its buffer until the data can be decoded.
func checkPages(r *os.File, g *format.RowGroup, want *parquet.Schema) error {
	for i := range g.Columns {
		c := &g.Columns[i].MetaData
		if _, ok := want.Lookup(c.PathInSchema...); !ok {
			continue
		}
		if err := checkColumn(r, c); err != nil {
			return fmt.Errorf("column %q: %w", c.PathInSchema, err)
		}
	}
	return nil
}

func checkColumn(r *os.File, c *format.ColumnMetaData) error {
	start := c.DataPageOffset
	if c.DictionaryPageOffset != 0 {
		start = c.DictionaryPageOffset
	}
	info, err := r.Stat()
	if err != nil {
		return err
	}
	if start < 0 || c.TotalCompressedSize < 0 || start > info.Size() || c.TotalCompressedSize > info.Size()-start {
		return fmt.Errorf("pages of %d bytes at offset %d, the file has %d", c.TotalCompressedSize, start, info.Size())
	}
	section := &counting{r: io.NewSectionReader(r, start, c.TotalCompressedSize)}
	buffered := bufio.NewReader(section)
	decoder := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(buffered))
	found := false // whether a page begins at DataPageOffset, where the library begins to read
	for page := 0; ; page++ {
		at := start + section.n - int64(buffered.Buffered())
		found = found || at == c.DataPageOffset
		if _, err := buffered.Peek(1); err == io.EOF {
			if !found {
				return fmt.Errorf("no page begins at offset %d", c.DataPageOffset)
			}
			return nil
		}
		header := new(format.PageHeader)
		if err := decoder.Decode(header); err != nil {
			return fmt.Errorf("page %d: header: %w", page, err)
		}
		left := c.TotalCompressedSize - section.n + int64(buffered.Buffered())
		if err := checkPage(c.Codec, header, left, buffered); err != nil {
			return fmt.Errorf("page %d: %w", page, err)
		}
	}
}

// counting counts the bytes read.
type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// checkPage checks one page, whose data r is about to return, and skips it. left is the number of bytes of the column after the
// header.
func checkPage(codec format.CompressionCodec, h *format.PageHeader, left int64, r *bufio.Reader) error {
	size, plain, values := int64(h.CompressedPageSize), int64(h.UncompressedPageSize), int64(0)
	levels, packed := int64(0), true // bytes of levels that precede the data and are never compressed
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		values = int64(h.DataPageHeader.V.NumValues)
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		values = int64(h.DictionaryPageHeader.V.NumValues)
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		v := &h.DataPageHeaderV2.V
		values = int64(v.NumValues)
		levels = int64(v.RepetitionLevelsByteLength) + int64(v.DefinitionLevelsByteLength)
		packed = !v.IsCompressed.Valid || v.IsCompressed.V
		if v.RepetitionLevelsByteLength < 0 || v.DefinitionLevelsByteLength < 0 {
			return fmt.Errorf("levels of %d and %d bytes", v.RepetitionLevelsByteLength, v.DefinitionLevelsByteLength)
		}
	}
	switch {
	case size < 0 || size > left:
		return fmt.Errorf("%d bytes, %d are left of the column", size, left)
	case plain < 0 || plain > maxPage:
		return fmt.Errorf("%d bytes when decompressed, want at most %d", plain, maxPage)
	case values < 0 || values > maxPage/8:
		return fmt.Errorf("%d values, want at most %d", values, maxPage/8)
	case levels > size || levels > plain:
		return fmt.Errorf("%d bytes of levels in a page of %d, %d when decompressed", levels, size, plain)
	}
	if !packed || codec == format.Uncompressed {
		_, err := r.Discard(int(size))
		return err
	}
	if _, err := r.Discard(int(levels)); err != nil {
		return err
	}
	size, plain = size-levels, plain-levels
	check, known := codecs[codec]
	if !known {
		return fmt.Errorf("%v is not supported", codec)
	}
	if check.ratio > 0 && size*check.ratio <= maxPage {
		_, err := r.Discard(int(size))
		return err
	}
	data := slices.Grow([]byte(nil), int(size))[:size] // at most the size of the file
	if _, err := io.ReadFull(r, data); err != nil {
		return err
	}
	n, err := check.decoded(data, plain)
	switch {
	case err != nil:
		return fmt.Errorf("%v: %w", codec, err)
	case n > plain:
		return fmt.Errorf("%v data decompress to more than the %d bytes that the header says", codec, plain)
	}
	return nil
}
