package client

import (
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHostCertificate checks that the host presents an end-entity certificate, issued by the root that it passes to the plugin: libraries
// such as webpki refuse a root as an end entity.
func TestHostCertificate(t *testing.T) {
	config, rootPEM, err := clientTLS()
	require.NoError(t, err)
	block, rest := pem.Decode(rootPEM)
	require.Empty(t, rest)
	root, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	require.True(t, root.IsCA)
	require.Len(t, config.Certificates, 1)
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	require.NoError(t, err)
	require.True(t, leaf.BasicConstraintsValid)
	require.False(t, leaf.IsCA)
	require.Equal(t, []string{"localhost"}, leaf.DNSNames)
	require.Zero(t, leaf.KeyUsage&x509.KeyUsageCertSign)
	roots := x509.NewCertPool()
	roots.AddCert(root)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "localhost", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)

	_, other, err := clientTLS()
	require.NoError(t, err)
	require.NotEqual(t, rootPEM, other, "each start has a root of its own")
}
