package ir

// Add returns x + y.
func (b *Builder) Add(x, y Value) Value { return b.Binary(Add, x, y) }

// Sub returns x - y.
func (b *Builder) Sub(x, y Value) Value { return b.Binary(Sub, x, y) }

// Mul returns x · y.
func (b *Builder) Mul(x, y Value) Value { return b.Binary(Mul, x, y) }

// Div returns x / y.
func (b *Builder) Div(x, y Value) Value { return b.Binary(Div, x, y) }

// Rem returns the remainder of x / y, with the sign of x.
func (b *Builder) Rem(x, y Value) Value { return b.Binary(Rem, x, y) }

// Min returns the lesser of x and y.
func (b *Builder) Min(x, y Value) Value { return b.Binary(Min, x, y) }

// Max returns the greater of x and y.
func (b *Builder) Max(x, y Value) Value { return b.Binary(Max, x, y) }

// And returns the bitwise and of x and y.
func (b *Builder) And(x, y Value) Value { return b.Binary(And, x, y) }

// Or returns the bitwise or of x and y.
func (b *Builder) Or(x, y Value) Value { return b.Binary(Or, x, y) }

// Eq returns x = y.
func (b *Builder) Eq(x, y Value) Value { return b.Binary(Eq, x, y) }

// Ne returns x ≠ y.
func (b *Builder) Ne(x, y Value) Value { return b.Binary(Ne, x, y) }

// Lt returns x < y.
func (b *Builder) Lt(x, y Value) Value { return b.Binary(Lt, x, y) }

// Le returns x ≤ y.
func (b *Builder) Le(x, y Value) Value { return b.Binary(Le, x, y) }
