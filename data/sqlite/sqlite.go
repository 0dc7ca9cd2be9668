// Package sqlite stores datasets of structs in tables of SQLite files, without cgo. A data.Loader turns the rows into batches; this package
// must not create tensors.
//
// A field is stored in the column named by the tag `db:"name"`, or else by the field's name; "-" excludes it. Integers and bools are
// INTEGER, floats REAL, strings TEXT, []byte BLOB, and all other types JSON in TEXT. A pointer to a type that
// is not stored as JSON is stored as that type, and nil as NULL.
// NaN is stored as NULL, as in SQLite, and NULL in a float is read as NaN. An empty []byte is read as nil.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goburn/burn/data"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Table is a dataset over one table of a file. It is safe for concurrent use until Close. The table must not be changed
// meanwhile.
type Table[T any] struct {
	db    *sql.DB
	get   *sql.Stmt
	name  string
	cols  []column
	n     int
	first int64   // rowid of item 0, if rowids have no gaps
	rows  []int64 // rowids otherwise
}

// Open opens a table for reading, in the order of its rowids. The table may have more columns than T has fields.
func Open[T any](path, table string) (*Table[T], error) {
	t, err := open[T](path, table)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %s: table %q: %w", path, table, err)
	}
	return t, nil
}

func open[T any](path, table string) (_ *Table[T], err error) {
	cols, err := columns(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	db, err := connect(path, "ro")
	if err != nil {
		return nil, err
	}
	t := &Table[T]{db: db, name: table, cols: cols}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if err := t.index(); err != nil {
		return nil, err
	}
	t.get, err = db.Prepare(fmt.Sprintf("SELECT %s FROM %s WHERE rowid = ?", names(cols), quote(table)))
	return t, err
}

// index reads the rowids.
func (t *Table[T]) index() error {
	var lo, hi sql.NullInt64
	from := " FROM " + quote(t.name)
	if err := t.db.QueryRow("SELECT count(*), min(rowid), max(rowid)"+from).Scan(&t.n, &lo, &hi); err != nil {
		return err
	}
	if t.first = lo.Int64; t.n == 0 || hi.Int64-lo.Int64 == int64(t.n)-1 {
		return nil
	}
	rows, err := t.db.Query("SELECT rowid" + from + " ORDER BY rowid")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		t.rows = append(t.rows, id)
	}
	t.n = len(t.rows)
	return rows.Err()
}

// Len returns the number of rows.
func (t *Table[T]) Len() int { return t.n }

// Get reads row i.
func (t *Table[T]) Get(i int) (item T, err error) {
	if err := data.Check(i, t.n); err != nil {
		return item, err
	}
	id := t.first + int64(i)
	if t.rows != nil {
		id = t.rows[i]
	}
	v := reflect.ValueOf(&item).Elem()
	into := make([]any, len(t.cols))
	for k, c := range t.cols {
		into[k] = c.scan(v.FieldByIndex(c.index))
	}
	if err := t.get.QueryRow(id).Scan(into...); err != nil {
		return item, fmt.Errorf("sqlite: table %q: row %d: %w", t.name, id, err)
	}
	return item, nil
}

// Close closes the file.
func (t *Table[T]) Close() error {
	if t.get != nil {
		return errors.Join(t.get.Close(), t.db.Close())
	}
	return t.db.Close()
}

// Store writes ds into a new table of the file at path, which is created if needed; its other tables stay. After an error the
// table does not exist. It is an error if the table exists already.
func Store[T any](ctx context.Context, path, table string, ds data.Dataset[T]) error {
	if err := store(ctx, path, table, ds); err != nil {
		return fmt.Errorf("sqlite: store table %q in %s: %w", table, path, err)
	}
	return nil
}

func store[T any](ctx context.Context, path, table string, ds data.Dataset[T]) (err error) {
	cols, err := columns(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	db, err := connect(path, "rwc")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fill(ctx, tx, table, cols, ds); err != nil {
		if rerr := tx.Rollback(); !errors.Is(rerr, sql.ErrTxDone) { // a cancelled context has rolled back already
			err = errors.Join(err, rerr)
		}
		return err
	}
	return tx.Commit()
}

func fill[T any](ctx context.Context, tx *sql.Tx, table string, cols []column, ds data.Dataset[T]) error {
	defs := make([]string, len(cols))
	for i, c := range cols {
		defs[i] = quote(c.name) + " " + c.kind
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("CREATE TABLE %s (%s)", quote(table), strings.Join(defs, ", "))); err != nil {
		return err
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(cols)), ", ")
	insert, err := tx.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", quote(table), names(cols), marks))
	if err != nil {
		return err
	}
	defer insert.Close()
	args := make([]any, len(cols))
	for i := range ds.Len() {
		item, err := ds.Get(i)
		if err != nil {
			return &data.ItemError{Index: i, Err: err}
		}
		v := reflect.ValueOf(&item).Elem()
		for k, c := range cols {
			if args[k], err = c.value(v.FieldByIndex(c.index)); err != nil {
				return &data.ItemError{Index: i, Err: fmt.Errorf("column %q: %w", c.name, err)}
			}
		}
		if _, err := insert.ExecContext(ctx, args...); err != nil {
			return &data.ItemError{Index: i, Err: err}
		}
	}
	return nil
}

// connect opens the file; mode is the parameter of that name in SQLite's URIs, "ro" or "rwc".
func connect(path, mode string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/ on Windows
	}
	u := url.URL{Scheme: "file", Path: p, RawQuery: "mode=" + mode + "&_pragma=busy_timeout(5000)"}
	return sql.Open("sqlite", u.String())
}

// quote quotes with backticks, because SQLite treats a double-quoted name that is not a column as a string.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func names(cols []column) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = quote(c.name)
	}
	return strings.Join(out, ", ")
}
