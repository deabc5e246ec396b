//! The few messages of TensorBoard that a run needs, with the field numbers of its `.proto` files
//! (`tensorboard/compat/proto/event.proto`, `summary.proto`, `plugins/hparams/plugin_data.proto`).

use std::collections::BTreeMap;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct EventProto {
    #[prost(double, tag = "1")]
    pub wall_time: f64,
    #[prost(int64, tag = "2")]
    pub step: i64,
    #[prost(oneof = "EventContent", tags = "3, 5, 7")]
    pub what: Option<EventContent>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum EventContent {
    #[prost(string, tag = "3")]
    FileVersion(String),
    #[prost(message, tag = "5")]
    Summary(Summary),
    #[prost(message, tag = "7")]
    SessionLog(SessionLog),
}

/// `status` 1 means that the run continues from the event's step: later values no longer count.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SessionLog {
    #[prost(int32, tag = "1")]
    pub status: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Summary {
    #[prost(message, repeated, tag = "1")]
    pub value: Vec<SummaryValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SummaryValue {
    #[prost(string, tag = "1")]
    pub tag: String,
    #[prost(float, optional, tag = "2")]
    pub simple_value: Option<f32>,
    #[prost(message, optional, tag = "8")]
    pub tensor: Option<TensorProto>,
    #[prost(message, optional, tag = "9")]
    pub metadata: Option<TagMetadata>,
}

/// No number; `dtype` 1 is `DT_FLOAT`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TensorProto {
    #[prost(int32, tag = "1")]
    pub dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShape>,
}

/// The shape of a scalar: no dimensions.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TensorShape {}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TagMetadata {
    #[prost(message, optional, tag = "1")]
    pub plugin_data: Option<PluginData>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PluginData {
    #[prost(string, tag = "1")]
    pub plugin_name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub content: Vec<u8>,
}

/// The content of the plugin `hparams`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Hparams {
    #[prost(int32, tag = "1")]
    pub version: i32,
    #[prost(oneof = "TrackingSession", tags = "3, 4")]
    pub session: Option<TrackingSession>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum TrackingSession {
    #[prost(message, tag = "3")]
    Start(SessionStart),
    #[prost(message, tag = "4")]
    End(SessionEnd),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SessionStart {
    #[prost(btree_map = "string, message", tag = "1")]
    pub hparams: BTreeMap<String, HparamValue>,
    #[prost(string, tag = "4")]
    pub group_name: String,
    #[prost(double, tag = "5")]
    pub start_time_secs: f64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SessionEnd {
    /// 1 success, 2 failure, 3 running.
    #[prost(int32, tag = "1")]
    pub status: i32,
    #[prost(double, tag = "2")]
    pub end_time_secs: f64,
}

/// `google.protobuf.Value`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HparamValue {
    #[prost(oneof = "HparamKind", tags = "2, 3, 4")]
    pub kind: Option<HparamKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum HparamKind {
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(bool, tag = "4")]
    Bool(bool),
}
