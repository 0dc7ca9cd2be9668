package fakeplugin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// refuses listens as a plugin does, but accepts no client certificate.
func refuses() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
	if err != nil {
		return err
	}
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "refuses")
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"h2"},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	fmt.Printf("1|1|unix|%s|grpc|%s\n", path, base64.RawStdEncoding.EncodeToString(der))
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			_ = tls.Server(conn, config).Handshake()
			_ = conn.Close()
		}()
	}
}
