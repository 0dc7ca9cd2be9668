package protocol

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// keys are the keys of the host: a root, and a certificate that it has issued.
type keys struct {
	rootPEM []byte
	host    tls.Certificate
}

func newKeys() (*keys, error) {
	now := time.Now()
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Minute),
			NotAfter: now.Add(24 * time.Hour), BasicConstraintsValid: true}
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	root := template(1, "root of a hostile host")
	root.IsCA, root.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return nil, err
	}
	if root, err = x509.ParseCertificate(rootDER); err != nil {
		return nil, err
	}
	leaf := template(2, "localhost")
	leaf.DNSNames, leaf.KeyUsage = []string{"localhost"}, x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), rootKey)
	if err != nil {
		return nil, err
	}
	return &keys{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}), tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}

// config returns the TLS configuration of a client that presents the given certificates and accepts only the plugin's certificate.
func (p *plugin) config(show ...tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: show, ServerName: "localhost", InsecureSkipVerify: true, NextProtos: []string{"h2"},
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 || string(raw[0]) != string(p.cert) {
				return errOtherCertificate
			}
			return nil
		}}
}
