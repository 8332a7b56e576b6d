// Verifies, with the packages of Go's own checksum database, what svc writes: notes, cosignatures, proofs. Reads JSON, writes JSON.
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A witness, by its key (https://c2sp.org/tlog-cosignature): the note package takes verifiers of others.
type witness struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (w witness) Name() string    { return w.name }
func (w witness) KeyHash() uint32 { return w.hash }
func (w witness) Verify(text, signature []byte) bool {
	if len(signature) != 72 {
		return false
	}
	time := binary.BigEndian.Uint64(signature[:8])
	return ed25519.Verify(w.key, append([]byte(fmt.Sprintf("cosignature/v1\ntime %d\n", time)), text...), signature[8:])
}

func newWitness(vkey string) (note.Verifier, error) {
	parts := strings.Split(vkey, "+")
	key, err := base64.StdEncoding.DecodeString(strings.Join(parts[2:], "+"))
	if err != nil || len(key) != 33 || key[0] != 4 {
		return nil, errors.New("not the key of a witness")
	}
	id := sha256.Sum256(append([]byte(parts[0]+"\n"), key...))
	if fmt.Sprintf("%x", id[:4]) != parts[1] {
		return nil, errors.New("another id")
	}
	return witness{parts[0], binary.BigEndian.Uint32(id[:4]), key[1:]}, nil
}

type asked struct {
	Note, Key   string
	Witnesses   []string
	Old         int64
	OldRoot     string
	Consistency []string
	Index       int64
	RowHash     string
	Inclusion   []string
}

func hashOf(text string) (hash tlog.Hash, err error) {
	bytes, err := base64.StdEncoding.DecodeString(text)
	if err == nil && copy(hash[:], bytes) != tlog.HashSize {
		err = errors.New("not a hash")
	}
	return hash, err
}

func hashesOf(lines []string) (hashes []tlog.Hash, err error) {
	for _, line := range lines {
		hash, err := hashOf(line)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

func check(what asked) (signatures int, err error) {
	log, err := note.NewVerifier(what.Key)
	if err != nil {
		return 0, err
	}
	verifiers := []note.Verifier{log}
	for _, vkey := range what.Witnesses {
		one, err := newWitness(vkey)
		if err != nil {
			return 0, err
		}
		verifiers = append(verifiers, one)
	}
	opened, err := note.Open([]byte(what.Note), note.VerifierList(verifiers...))
	if err != nil {
		return 0, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != log.Name() {
		return 0, errors.New("not a checkpoint of this log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return 0, err
	}
	root, err := hashOf(lines[2])
	if err != nil {
		return 0, err
	}
	if what.Old > 0 {
		proof, err := hashesOf(what.Consistency)
		if err != nil {
			return 0, err
		}
		oldRoot, err := hashOf(what.OldRoot)
		if err != nil {
			return 0, err
		}
		if err := tlog.CheckTree(proof, size, root, what.Old, oldRoot); err != nil {
			return 0, err
		}
	}
	if what.RowHash != "" {
		proof, err := hashesOf(what.Inclusion)
		if err != nil {
			return 0, err
		}
		row, err := hashOf(what.RowHash)
		if err != nil {
			return 0, err
		}
		if err := tlog.CheckRecord(proof, size, root, what.Index, tlog.RecordHash(row[:])); err != nil {
			return 0, err
		}
	}
	return len(opened.Sigs), nil
}

func main() {
	var all []asked
	if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil {
		panic(err)
	}
	answers := []string{}
	for _, what := range all {
		if signatures, err := check(what); err != nil {
			answers = append(answers, "refused: "+err.Error())
		} else {
			answers = append(answers, fmt.Sprintf("%d signatures", signatures))
		}
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}
