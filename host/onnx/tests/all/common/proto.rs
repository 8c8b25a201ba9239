//! A tiny protobuf writer, for models that no exporter would make.

/// A message under construction.
#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

pub fn message() -> Message {
    Message::default()
}

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn int(mut self, number: u32, value: i64) -> Self {
        self.varint(u64::from(number) << 3);
        self.varint(value as u64);
        self
    }

    pub fn bytes(mut self, number: u32, bytes: impl AsRef<[u8]>) -> Self {
        self.varint(u64::from(number) << 3 | 2);
        self.varint(bytes.as_ref().len() as u64);
        self.0.extend_from_slice(bytes.as_ref());
        self
    }

    pub fn message(self, number: u32, message: Message) -> Self {
        self.bytes(number, message.0)
    }

    pub fn float(mut self, number: u32, value: f32) -> Self {
        self.varint(u64::from(number) << 3 | 5);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A length-delimited field whose length takes more bytes than it needs.
    pub fn long_bytes(mut self, number: u32, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        self.varint(u64::from(number) << 3 | 2);
        self.0.push(bytes.len() as u8 & 0x7f | 0x80);
        self.0.push((bytes.len() >> 7) as u8 | 0x80);
        self.0.push(0);
        self.0.extend_from_slice(bytes);
        self
    }
}

/// A model of IR version 8 and operator set 17 around a graph.
pub fn model(graph: Message) -> Message {
    message().int(1, 8).message(7, graph).message(8, message().bytes(1, "").int(2, 17))
}

/// A `NodeProto`.
pub fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> Message {
    let inputs = inputs.iter().fold(message(), |node, input| node.bytes(1, input));
    outputs.iter().fold(inputs, |node, output| node.bytes(2, output)).bytes(4, op)
}

/// An `AttributeProto` with an integer.
pub fn int_attr(name: &str, value: i64) -> Message {
    message().bytes(1, name).int(3, value).int(20, 2)
}

/// An `AttributeProto` with a graph.
pub fn graph_attr(name: &str, graph: Message) -> Message {
    message().bytes(1, name).message(6, graph).int(20, 5)
}

/// A `ValueInfoProto` of a float tensor.
pub fn value(name: &str, dims: &[i64]) -> Message {
    let shape = dims.iter().fold(message(), |shape, &dim| shape.message(1, message().int(1, dim)));
    message().bytes(1, name).message(2, message().message(1, message().int(1, 1).message(2, shape)))
}

/// A `TensorProto` of floats in `raw_data`.
pub fn floats(name: &str, dims: &[i64], values: &[f32]) -> Message {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    dims.iter().fold(message(), |tensor, &dim| tensor.int(1, dim)).int(2, 1).bytes(8, name).bytes(9, bytes)
}

/// A graph of inputs, nodes and outputs of shape (2).
pub fn graph(inputs: &[&str], nodes: Vec<Message>, outputs: &[&str]) -> Message {
    let graph = nodes.into_iter().fold(message(), |graph, node| graph.message(1, node)).bytes(2, "g");
    let graph = inputs.iter().fold(graph, |graph, input| graph.message(11, value(input, &[2])));
    outputs.iter().fold(graph, |graph, output| graph.message(12, value(output, &[2])))
}
