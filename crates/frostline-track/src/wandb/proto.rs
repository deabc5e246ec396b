//! The few messages of Weights & Biases that a run needs, with the field numbers of its `.proto` file
//! (`wandb/proto/wandb_internal.proto`).

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RecordProto {
    /// Counted from 1 within the file.
    #[prost(int64, tag = "1")]
    pub num: i64,
    #[prost(oneof = "RecordContent", tags = "2, 3, 17, 18, 21")]
    pub what: Option<RecordContent>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum RecordContent {
    #[prost(message, tag = "2")]
    History(HistoryRecord),
    #[prost(message, tag = "3")]
    Summary(HistoryItems),
    #[prost(message, tag = "17")]
    Run(RunRecord),
    #[prost(message, tag = "18")]
    Exit(Exit),
    #[prost(message, tag = "21")]
    Header(LogHeader),
}

/// Values of one step.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HistoryRecord {
    #[prost(message, repeated, tag = "1")]
    pub item: Vec<HistoryItem>,
    #[prost(message, optional, tag = "2")]
    pub step: Option<HistoryStep>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HistoryStep {
    #[prost(int64, tag = "1")]
    pub num: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HistoryItems {
    #[prost(message, repeated, tag = "1")]
    pub update: Vec<HistoryItem>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HistoryItem {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "16")]
    pub value_json: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RunRecord {
    #[prost(string, tag = "1")]
    pub run_id: String,
    #[prost(string, tag = "3")]
    pub project: String,
    #[prost(message, optional, tag = "4")]
    pub config: Option<HistoryItems>,
    #[prost(string, tag = "8")]
    pub display_name: String,
    #[prost(int64, tag = "14")]
    pub starting_step: i64,
    #[prost(message, optional, tag = "17")]
    pub start_time: Option<Timestamp>,
}

/// `google.protobuf.Timestamp`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Exit {
    #[prost(int32, tag = "1")]
    pub exit_code: i32,
    #[prost(int32, tag = "2")]
    pub runtime: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LogHeader {
    #[prost(message, optional, tag = "1")]
    pub version_info: Option<VersionInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct VersionInfo {
    #[prost(string, tag = "1")]
    pub producer: String,
    #[prost(string, tag = "2")]
    pub min_consumer: String,
}
