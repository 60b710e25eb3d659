// SPDX-FileCopyrightText: The Keelson Authors
// SPDX-License-Identifier: Apache-2.0

// The Go types of Kubernetes as the other side of tests/nightly/go-types. Lines on both sides:
// apiVersion, kind, JSON and protobuf, the last two in base64, with a tab between.
//
//	gotypes check          reads objects, decodes JSON and protobuf, and says where Go's own bytes differ
//	gotypes make N SEED    writes N objects of each kind, filled at random
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apiextensions.AddToScheme, admissionregistration.AddToScheme, apps.AddToScheme, authentication.AddToScheme, authorization.AddToScheme,
		autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batch.AddToScheme, certificates.AddToScheme, coordination.AddToScheme, core.AddToScheme,
		discovery.AddToScheme, events.AddToScheme, flowcontrol.AddToScheme, networking.AddToScheme, node.AddToScheme, policy.AddToScheme,
		rbac.AddToScheme, resourcev1.AddToScheme, scheduling.AddToScheme, storage.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

// -- objects of the other side ------------------------------------------------------------------------------------

type line struct {
	gvk         schema.GroupVersionKind
	json, proto []byte
	cbor        []byte // empty: the other side has none
}

func parseLine(text string) (line, error) {
	parts := strings.Split(text, "\t")
	if len(parts) != 5 {
		return line{}, fmt.Errorf("%d parts", len(parts))
	}
	asJSON, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return line{}, err
	}
	proto, err := base64.StdEncoding.DecodeString(parts[3])
	if err != nil {
		return line{}, err
	}
	asCBOR, err := base64.StdEncoding.DecodeString(parts[4])
	return line{schema.FromAPIVersionAndKind(parts[0], parts[1]), asJSON, proto, asCBOR}, err
}

// What json.Unmarshal makes of two texts, compared.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func hasProto(obj runtime.Object) bool {
	_, ok := obj.(message)
	return ok
}

// What differs; "" when nothing does.
func checkLine(scheme *runtime.Scheme, l line) string {
	obj, err := scheme.New(l.gvk)
	if err != nil || !hasProto(obj) {
		return ""
	}
	if err := json.Unmarshal(l.json, obj); err != nil {
		return "JSON is not taken: " + err.Error()
	}
	obj.GetObjectKind().SetGroupVersionKind(l.gvk)
	again, err := json.Marshal(obj)
	if err != nil || !sameJSON(again, l.json) {
		return fmt.Sprintf("JSON differs\n  ours %s\n  Go's %s", l.json, again)
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	proto, err := obj.(message).Marshal()
	if err != nil || !bytes.Equal(proto, l.proto) {
		return fmt.Sprintf("protobuf differs\n  JSON %s\n  ours %x\n  Go's %x", l.json, l.proto, proto)
	}
	fresh, _ := scheme.New(l.gvk)
	if err := fresh.(message).Unmarshal(l.proto); err != nil {
		return "protobuf is not taken: " + err.Error()
	}
	fresh.GetObjectKind().SetGroupVersionKind(l.gvk)
	again, err = json.Marshal(fresh)
	if err != nil || !sameJSON(again, l.json) {
		return fmt.Sprintf("JSON after protobuf differs\n  ours %s\n  Go's %s", l.json, again)
	}
	return checkCBOR(scheme, l)
}

func encodeCBOR(scheme *runtime.Scheme, gvk schema.GroupVersionKind, asJSON []byte) ([]byte, error) {
	obj, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(asJSON, obj); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = cbor.NewSerializer(scheme, scheme).Encode(obj, &out)
	return out.Bytes(), err
}

func checkCBOR(scheme *runtime.Scheme, l line) string {
	if len(l.cbor) == 0 {
		return ""
	}
	wanted, err := encodeCBOR(scheme, l.gvk, l.json)
	if err != nil || !bytes.Equal(wanted, l.cbor) {
		return fmt.Sprintf("CBOR differs\n  JSON %s\n  ours %x\n  Go's %x", l.json, l.cbor, wanted)
	}
	obj, _, err := cbor.NewSerializer(scheme, scheme, cbor.Strict(true)).Decode(l.cbor, nil, nil)
	if err != nil {
		return "CBOR is not taken: " + err.Error()
	}
	again, err := json.Marshal(obj)
	if err != nil || !sameJSON(again, l.json) {
		return fmt.Sprintf("JSON after CBOR differs\n  ours %s\n  Go's %s", l.json, again)
	}
	return ""
}

func check(scheme *runtime.Scheme) int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	n, bad := 0, 0
	for in.Scan() {
		l, err := parseLine(in.Text())
		if err != nil {
			fmt.Println("a line that can't be read:", err)
			return 2
		}
		n++
		if why := checkLine(scheme, l); why != "" {
			bad++
			fmt.Printf("%s: %s\n", l.gvk, why)
		}
	}
	fmt.Printf("%d objects of ours, %d differ\n", n, bad)
	if bad > 0 {
		return 1
	}
	return 0
}

// -- objects of Go ---------------------------------------------------------------------------------------------------

type maker struct {
	r     *rand.Rand
	depth int
}

var texts = []string{"x", "a/b", "<&>", "\"q\"\\", "é😀", "\u2028", "line\nline\ttab", "a much longer text than the others are", "\x01\x7f", ""}

func (m *maker) free() []byte {
	return []byte([]string{`{}`, `{"z":1,"a":[null,true,-2.5,"x"]}`, `{"f:spec":{"f:x":{}}}`}[m.r.Intn(3)])
}

// Types that are more than what they are made of.
func (m *maker) special(v reflect.Value) bool {
	switch p := v.Addr().Interface().(type) {
	case *meta.Time:
		*p = meta.Unix(m.r.Int63n(2000000000), 0)
	case *meta.MicroTime:
		*p = meta.NewMicroTime(meta.Unix(m.r.Int63n(2000000000), m.r.Int63n(1000000)*1000).Time)
	case *meta.Duration:
		p.Duration = 12345678 * 1000
	case *resource.Quantity:
		*p = resource.MustParse([]string{"0", "1", "100m", "1500", "2Gi", "1e3", "0.5", "-3", "123456789123456789"}[m.r.Intn(9)])
	case *intstr.IntOrString:
		*p = []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(7), intstr.FromString("25%"), intstr.FromString("")}[m.r.Intn(4)]
	case *runtime.RawExtension:
		p.Raw = m.free()
	case *meta.FieldsV1:
		p.SetRawBytes(m.free())
	case *apiextensions.JSON:
		p.Raw = m.free()
	case *meta.TypeMeta:
	case *meta.ManagedFieldsEntry:
		p.FieldsV1 = meta.NewFieldsV1("{}")
	default:
		return false
	}
	return true
}

func (m *maker) fill(v reflect.Value) {
	if v.CanAddr() && m.special(v) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(m.r.Intn(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(m.r.Intn(1000) - 300))
	case reflect.Uint8:
		v.SetUint(uint64(m.r.Intn(256)))
	case reflect.Float64:
		v.SetFloat(float64(m.r.Intn(1000)) / 7)
	case reflect.String:
		v.SetString(texts[m.r.Intn(len(texts))])
	case reflect.Pointer:
		if m.depth < 12 {
			v.Set(reflect.New(v.Type().Elem()))
			m.fill(v.Elem())
		}
	case reflect.Slice:
		n := m.r.Intn(3)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			n++ // "" is not what a client says
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := 0; i < n; i++ {
			m.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := m.r.Intn(3); i > 0; i-- {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			m.fill(key)
			m.fill(value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		m.depth++
		for i := 0; i < v.NumField(); i++ {
			if v.Field(i).CanSet() && m.r.Intn(3) > 0 && m.depth < 12 {
				m.fill(v.Field(i))
			}
		}
		m.depth--
	}
}

func kinds(scheme *runtime.Scheme) []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for gvk := range scheme.AllKnownTypes() {
		obj, err := scheme.New(gvk)
		if err != nil || !hasProto(obj) || gvk.Version == runtime.APIVersionInternal {
			continue
		}
		if _, ok := reflect.TypeOf(obj).Elem().FieldByName("ObjectMeta"); ok {
			all = append(all, gvk)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].String() < all[j].String() })
	return all
}

// The object as JSON and protobuf keep it both: JSON can't tell an empty list that is left out from none, nor can protobuf tell
// an empty list from none.
func settle(scheme *runtime.Scheme, gvk schema.GroupVersionKind, obj runtime.Object) ([]byte, []byte, error) {
	asJSON, err := json.Marshal(obj)
	if err != nil {
		return nil, nil, err
	}
	once, _ := scheme.New(gvk)
	if err := json.Unmarshal(asJSON, once); err != nil {
		return nil, nil, err
	}
	proto, err := once.(message).Marshal()
	if err != nil {
		return nil, nil, err
	}
	twice, _ := scheme.New(gvk)
	if err := twice.(message).Unmarshal(proto); err != nil {
		return nil, nil, err
	}
	twice.GetObjectKind().SetGroupVersionKind(gvk)
	asJSON, err = json.Marshal(twice)
	return asJSON, proto, err
}

func makeObjects(scheme *runtime.Scheme, n int, seed int64) int {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	m := maker{r: rand.New(rand.NewSource(seed))}
	for _, gvk := range kinds(scheme) {
		for i := 0; i < n; i++ {
			obj, _ := scheme.New(gvk)
			m.depth = 0
			m.fill(reflect.ValueOf(obj).Elem())
			asJSON, proto, err := settle(scheme, gvk, obj)
			if err != nil {
				fmt.Fprintln(os.Stderr, gvk, err)
				return 1
			}
			asCBOR, err := encodeCBOR(scheme, gvk, asJSON)
			if err != nil {
				fmt.Fprintln(os.Stderr, gvk, err)
				return 1
			}
			apiVersion, kind := gvk.ToAPIVersionAndKind()
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", apiVersion, kind, base64.StdEncoding.EncodeToString(asJSON),
				base64.StdEncoding.EncodeToString(proto), base64.StdEncoding.EncodeToString(asCBOR))
		}
	}
	return 0
}

func main() {
	scheme := newScheme()
	if len(os.Args) == 2 && os.Args[1] == "check" {
		os.Exit(check(scheme))
	}
	if len(os.Args) == 4 && os.Args[1] == "make" {
		n, err := strconv.Atoi(os.Args[2])
		seed, err2 := strconv.ParseInt(os.Args[3], 10, 64)
		if err == nil && err2 == nil {
			os.Exit(makeObjects(scheme, n, seed))
		}
	}
	fmt.Fprintln(os.Stderr, "usage: gotypes check | gotypes make N SEED")
	os.Exit(2)
}
