package inventory

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
)

// A page of a list is read as it arrives, one object after the other, and of each only
// what graph.Object holds: most of the bytes are managed fields, labels and annotations,
// which are never turned into anything.
//
// The numbers of the fields are those of apimachinery's generated.proto, which are part of
// the API and never change.
const (
	unknownRaw = 2

	listMetadata = 1
	listItems    = 2
	listContinue = 3 // of ListMeta

	itemMetadata = 1

	metaName              = 1
	metaNamespace         = 3
	metaUID               = 5
	metaDeletionTimestamp = 9
	metaOwnerReferences   = 13
	metaFinalizers        = 14

	ownerKind       = 1
	ownerName       = 3
	ownerUID        = 4
	ownerAPIVersion = 5
	ownerController = 6
	ownerBlock      = 7
)

// protobufMagic begins every protobuf answer of an API server.
const protobufMagic = "k8s\x00"

// longestItem bounds what one object may make us allocate; the API server stores no object
// that is anywhere near it. longestPage is what a length can be at all.
const (
	longestItem = 64 << 20
	longestPage = 1 << 40
)

var errTooLong = errors.New("the answer is no list of a Kubernetes API: a length in it is longer than any can be")

// pageReader reads the pages of one list.
type pageReader struct {
	in    *bufio.Reader
	at    int64 // bytes read from in
	item  []byte
	words words
	// object is handed out for each object anew, with its slices.
	object graph.Object
}

func newPageReader(apiVersion, kind string) *pageReader {
	return &pageReader{
		in: bufio.NewReaderSize(nil, 64<<10), words: words{},
		object: graph.Object{APIVersion: apiVersion, Kind: kind},
	}
}

// read hands each object of a page to add, which must not keep it or its slices, and
// returns the token of the next page. What was handed out before an error is right.
func (p *pageReader) read(in io.Reader, add func(graph.Object)) (next string, err error) {
	p.in.Reset(in)
	p.at = 0
	magic, err := p.in.Peek(len(protobufMagic))
	if err != nil {
		return "", unexpected(err)
	}
	if string(magic) != protobufMagic {
		return p.readJSON(add)
	}
	if _, err := p.in.Discard(len(protobufMagic)); err != nil {
		return "", err
	}
	return p.envelope(add)
}

// envelope reads what protobuf answers are wrapped in.
func (p *pageReader) envelope(add func(graph.Object)) (next string, err error) {
	found := false
	for {
		number, wireType, err := p.tag()
		switch {
		case found && errors.Is(err, io.EOF):
			return next, nil
		case err != nil:
			return "", unexpected(err)
		case number == unknownRaw && wireType == protowire.BytesType:
			found = true
			next, err = p.list(add)
		default:
			err = p.skip(wireType)
		}
		if err != nil {
			return "", unexpected(err)
		}
	}
}

// list reads the list inside the envelope.
func (p *pageReader) list(add func(graph.Object)) (next string, err error) {
	length, err := p.varint()
	if err != nil {
		return "", err
	}
	if length > longestPage {
		return "", errTooLong
	}
	for end := p.at + int64(length); p.at < end && err == nil; {
		var number protowire.Number
		var wireType protowire.Type
		number, wireType, err = p.tag()
		switch {
		case err != nil:
		case number == listMetadata && wireType == protowire.BytesType:
			next, err = p.continueToken()
		case number == listItems && wireType == protowire.BytesType:
			err = p.parseItem(add)
		default:
			err = p.skip(wireType)
		}
	}
	return next, err
}

func (p *pageReader) continueToken() (token string, err error) {
	if err := p.bytes(); err != nil {
		return "", err
	}
	err = eachField(p.item, func(number protowire.Number, value []byte, _ uint64) error {
		if number == listContinue {
			token = string(value)
		}
		return nil
	})
	return token, err
}

// parseItem reads one object.
func (p *pageReader) parseItem(add func(graph.Object)) error {
	if err := p.bytes(); err != nil {
		return err
	}
	o := &p.object
	o.Namespace, o.Name, o.UID, o.Deleting = "", "", "", false
	o.Finalizers, o.Owners = o.Finalizers[:0], o.Owners[:0]
	err := eachField(p.item, func(number protowire.Number, value []byte, _ uint64) error {
		if number != itemMetadata {
			return nil
		}
		return eachField(value, p.parseMetadata)
	})
	if err == nil {
		add(*o)
	}
	return err
}

func (p *pageReader) parseMetadata(number protowire.Number, value []byte, _ uint64) error {
	o := &p.object
	switch number {
	case metaName:
		o.Name = string(value)
	case metaNamespace:
		o.Namespace = p.words.of(value)
	case metaUID:
		o.UID = types.UID(value)
	case metaDeletionTimestamp:
		o.Deleting = true
	case metaFinalizers:
		o.Finalizers = append(o.Finalizers, p.words.of(value))
	case metaOwnerReferences:
		o.Owners = append(o.Owners, metav1.OwnerReference{})
		return eachField(value, p.parseOwner)
	}
	return nil
}

func (p *pageReader) parseOwner(number protowire.Number, value []byte, flag uint64) error {
	ref := &p.object.Owners[len(p.object.Owners)-1]
	switch number {
	case ownerAPIVersion:
		ref.APIVersion = p.words.of(value)
	case ownerKind:
		ref.Kind = p.words.of(value)
	case ownerName:
		ref.Name = p.words.of(value)
	case ownerUID:
		ref.UID = types.UID(p.words.of(value))
	case ownerController:
		ref.Controller = new(flag != 0)
	case ownerBlock:
		ref.BlockOwnerDeletion = new(flag != 0)
	}
	return nil
}

// eachField calls each for the fields of a message: value is that of a length-delimited one,
// flag that of a varint.
func eachField(b []byte, each func(number protowire.Number, value []byte, flag uint64) error) error {
	for len(b) > 0 {
		number, wireType, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var value []byte
		var flag uint64
		switch wireType {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			flag, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(number, wireType, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := each(number, value, flag); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// readJSON reads the answer of a server that has no protobuf, or no metadata on its own:
// then the whole objects are there, and their metadata among it.
func (p *pageReader) readJSON(add func(graph.Object)) (next string, err error) {
	var list metav1.PartialObjectMetadataList
	if err := json.NewDecoder(p.in).Decode(&list); err != nil {
		return "", unexpected(err)
	}
	for i := range list.Items {
		o := &list.Items[i]
		add(graph.Object{
			APIVersion: p.object.APIVersion, Kind: p.object.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID,
			Deleting: o.DeletionTimestamp != nil, Finalizers: o.Finalizers, Owners: o.OwnerReferences,
		})
	}
	return list.Continue, nil
}

func (p *pageReader) tag() (protowire.Number, protowire.Type, error) {
	tag, err := p.varint()
	if err != nil {
		return 0, 0, err
	}
	number, wireType := protowire.DecodeTag(tag)
	return number, wireType, nil
}

// varint returns io.EOF only where nothing at all is left.
func (p *pageReader) varint() (uint64, error) {
	var value uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := p.in.ReadByte()
		if err != nil {
			if shift > 0 {
				err = unexpected(err)
			}
			return 0, err
		}
		p.at++
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value, nil
		}
	}
	return 0, errTooLong
}

// bytes reads a length-delimited value into p.item.
func (p *pageReader) bytes() error {
	length, err := p.varint()
	if err != nil {
		return err
	}
	if length > longestItem {
		return errTooLong
	}
	if int(length) > cap(p.item) {
		p.item = make([]byte, length)
	}
	p.item = p.item[:length]
	n, err := io.ReadFull(p.in, p.item)
	p.at += int64(n)
	return err
}

// skip reads over a value.
func (p *pageReader) skip(wireType protowire.Type) error {
	switch wireType {
	case protowire.VarintType:
		_, err := p.varint()
		return err
	case protowire.BytesType:
		return p.bytes()
	default:
		return fmt.Errorf("the answer is no list of a Kubernetes API: wire type %d", wireType)
	}
}

// unexpected: an answer that ends in the middle was cut off.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// words holds one copy of each string that many objects share: namespaces, kinds,
// finalizers, and the owner of the objects before.
type words map[string]string

// manyWords bounds it; names of owners that come seldom make room for others.
const manyWords = 4096

func (w words) of(b []byte) string {
	if word, ok := w[string(b)]; ok {
		return word
	}
	if len(w) >= manyWords {
		clear(w)
	}
	word := string(b)
	w[word] = word
	return word
}
