package client

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

// envClientCert is go-plugin's variable that passes the host's certificate to the plugin, in PEM.
const envClientCert = "PLUGIN_CLIENT_CERT"

// clientTLS creates a root certificate for one start, and a host certificate that the root has signed. It returns a configuration with the
// host certificate, and the root in PEM, with which the plugin verifies the host certificate. Two certificates are needed because libraries
// such as rustls refuse a root as an end entity. go-plugin later sets the server's own certificate, from the handshake, as the only root of
// the configuration. Keys are on P-256: go-plugin's own certificates are on P-521, which the gRPC libraries in C (Python, Ruby, PHP) refuse
// to verify.
func clientTLS() (*tls.Config, []byte, error) {
	const name = "localhost"
	now := time.Now()
	template := func(common string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
		if err != nil {
			return nil, nil, err
		}
		return &x509.Certificate{Subject: pkix.Name{CommonName: common, Organization: []string{"burn"}}, SerialNumber: serial,
			NotBefore: now.Add(-time.Minute), NotAfter: now.AddDate(10, 0, 0), BasicConstraintsValid: true}, key, nil
	}
	root, rootKey, err := template("burn host root")
	if err != nil {
		return nil, nil, err
	}
	root.IsCA, root.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return nil, nil, err
	}
	leaf, key, err := template(name)
	if err != nil {
		return nil, nil, err
	}
	leaf.DNSNames, leaf.KeyUsage = []string{name}, x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	if root, err = x509.ParseCertificate(rootDER); err != nil { // parse it for the identifier of its key
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), rootKey)
	if err != nil {
		return nil, nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12,
		ServerName: name}
	return config, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}), nil
}
