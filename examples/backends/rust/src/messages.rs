//! The messages of backend.proto that a plugin of this size meets.

use std::collections::HashMap;

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct HelloRequest {
    #[prost(uint32, tag = "1")]
    pub protocol_min: u32,
    #[prost(uint32, tag = "2")]
    pub protocol_max: u32,
    #[prost(map = "string, string", tag = "7")]
    pub options: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct HelloReply {
    #[prost(uint32, tag = "1")]
    pub protocol_min: u32,
    #[prost(uint32, tag = "2")]
    pub protocol_max: u32,
    #[prost(uint32, tag = "3")]
    pub version: u32,
    #[prost(message, optional, tag = "5")]
    pub info: Option<Info>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Info {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
    #[prost(string, tag = "3")]
    pub vendor: String,
    #[prost(message, repeated, tag = "4")]
    pub devices: Vec<Device>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Device {
    #[prost(int64, tag = "1")]
    pub index: i64,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub kind: String,
    #[prost(string, tag = "5")]
    pub detail: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct OpenRequest {
    #[prost(fixed64, tag = "1")]
    pub handle: u64,
    #[prost(int64, tag = "2")]
    pub device: i64,
    #[prost(uint32, tag = "3")]
    pub generation: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct OpenReply {
    #[prost(bytes = "vec", tag = "1")]
    pub error: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    pub capabilities: Option<Capabilities>,
    #[prost(message, optional, tag = "3")]
    pub extensions: Option<Extensions>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Extensions {
    #[prost(bool, tag = "2")]
    pub memory: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct Capabilities {
    #[prost(uint32, tag = "1")]
    pub types: u32,
    #[prost(message, repeated, tag = "3")]
    pub ops: Vec<Op>,
    #[prost(message, optional, tag = "4")]
    pub limits: Option<Limits>,
    #[prost(bool, tag = "5")]
    pub deterministic: bool,
    #[prost(string, repeated, tag = "6")]
    pub features: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Limits {
    #[prost(uint32, tag = "1")]
    pub rank: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Op {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint32, tag = "2")]
    pub version: u32,
    #[prost(uint32, repeated, tag = "3")]
    pub operands: Vec<u32>,
    #[prost(uint32, repeated, tag = "4")]
    pub results: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DeviceRequest {
    #[prost(fixed64, tag = "1")]
    pub handle: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Status {
    #[prost(bytes = "vec", tag = "1")]
    pub error: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MemoryReply {
    #[prost(bytes = "vec", tag = "1")]
    pub error: Vec<u8>,
    #[prost(int64, tag = "2")]
    pub in_use: i64,
    #[prost(int64, tag = "3")]
    pub reserved: i64,
    #[prost(int64, tag = "4")]
    pub tensors: i64,
}
