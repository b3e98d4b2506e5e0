// A gRPC server on google.golang.org/grpc, whose calls have the replies, status and end that their
// messages order, as those of grpc_server.py. A cut closes the connection.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// line is a call as it ended.
type line struct {
	Method string `json:"method"`
	In     uint32 `json:"in"`
	Out    uint32 `json:"out"`
	Bytes  uint64 `json:"bytes"`
	Status uint32 `json:"status"`
	End    string `json:"end"`
}

// log has the calls, and the connections by the client's address.
type log struct {
	sync.Mutex
	lines []*line
	conns map[string]net.Conn
}

// listener remembers its connections, so that a call can close its own.
type listener struct {
	net.Listener
	log *log
}

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.log.Lock()
		l.log.conns[conn.RemoteAddr().String()] = conn
		l.log.Unlock()
	}
	return conn, err
}

// schema has the types of the messages.
type schema struct {
	call, reply protoreflect.MessageDescriptor
}

func (s schema) field(m *dynamicpb.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(s.call.Fields().ByName(name))
}

func (s schema) newReply(number uint32, padding int) *dynamicpb.Message {
	reply := dynamicpb.NewMessage(s.reply)
	reply.Set(s.reply.Fields().ByName("number"), protoreflect.ValueOfUint32(number))
	reply.Set(s.reply.Fields().ByName("padding"), protoreflect.ValueOfBytes(make([]byte, padding)))
	return reply
}

// respond receives all messages of a call, sends the replies and ends it as they order.
func respond(s schema, log *log, method string, stream grpc.ServerStream) error {
	entry := &line{Method: method, End: "client"}
	log.Lock()
	log.lines = append(log.lines, entry)
	log.Unlock()
	clientStreams := method == "Up" || method == "Both"
	serverStreams := method == "Down" || method == "Both"
	var ordered, code uint32
	isCut := false
	for {
		call := dynamicpb.NewMessage(s.call)
		err := stream.RecvMsg(call)
		if err == io.EOF && clientStreams {
			break
		} else if err != nil {
			return err
		}
		entry.In++
		if code == 0 {
			code = uint32(s.field(call, "status").Uint())
		}
		isCut = isCut || s.field(call, "cut").Bool()
		replies := uint32(s.field(call, "replies").Uint())
		ordered += replies
		for ; serverStreams && replies > 0; replies-- {
			reply := s.newReply(entry.Out+1, int(s.field(call, "reply_bytes").Uint()))
			if err := stream.SendMsg(reply); err != nil {
				return err
			}
			entry.Out++
			entry.Bytes += uint64(proto.Size(reply))
		}
		if !clientStreams {
			break
		}
	}
	if isCut {
		// What was sent must be with the client before its connection is closed.
		time.Sleep(50 * time.Millisecond)
		entry.End = "cut"
		from, _ := peer.FromContext(stream.Context())
		log.Lock()
		conn := log.conns[from.Addr.String()]
		log.Unlock()
		return conn.Close()
	}
	entry.End, entry.Status = "complete", code
	if code != 0 {
		return status.Error(codes.Code(code), "ordered")
	}
	if !serverStreams {
		if err := stream.SendMsg(s.newReply(ordered, 1)); err != nil {
			return err
		}
		entry.Out++
	}
	return nil
}

func load(path string) (schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return schema{}, err
	}
	description := &descriptorpb.FileDescriptorProto{}
	if err := protojson.Unmarshal(text, description); err != nil {
		return schema{}, err
	}
	file, err := protodesc.NewFile(description, protoregistry.GlobalFiles)
	if err != nil {
		return schema{}, err
	}
	messages := file.Messages()
	return schema{messages.ByName("Call"), messages.ByName("Reply")}, protoregistry.GlobalFiles.RegisterFile(file)
}

func serve(logPath, schemaPath string) error {
	types, err := load(schemaPath)
	if err != nil {
		return err
	}
	log := &log{conns: map[string]net.Conn{}}
	service := grpc.ServiceDesc{ServiceName: "interop.Interop", HandlerType: (*any)(nil), Metadata: "interop.proto"}
	for _, method := range []string{"Unary", "Down", "Up", "Both"} {
		service.Streams = append(service.Streams, grpc.StreamDesc{
			StreamName:    method,
			ServerStreams: true,
			ClientStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error {
				return respond(types, log, method, stream)
			},
		})
	}
	server := grpc.NewServer()
	server.RegisterService(&service, nil)
	reflection.Register(server)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Printf("listening on http://%s\n", inner.Addr())
	go server.Serve(listener{inner, log})
	<-ctx.Done()
	ended := time.AfterFunc(2*time.Second, server.Stop)
	server.GracefulStop()
	ended.Stop()
	return log.write(logPath)
}

func (l *log) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	l.Lock()
	defer l.Unlock()
	out := json.NewEncoder(file)
	versions := fmt.Sprintf("google.golang.org/grpc %s, %s", grpc.Version, runtime.Version())
	if err := out.Encode(map[string]string{"versions": versions}); err != nil {
		return err
	}
	for _, entry := range l.lines {
		if err := out.Encode(entry); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	path := flag.String("log", "", "file of the log")
	schema := flag.String("schema", "", "service.json")
	flag.Int("seed", 0, "")
	flag.Parse()
	if err := serve(*path, *schema); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
