//! The start of the schema of the compile spec of Qualcomm's backend (`backends/qualcomm/serialization/qc_compiler_spec.fbs` of ExecuTorch
//! 1.5), without an identifier: the fields that state the device.

use crate::flatbuffer::macros::{named, table};
use crate::flatbuffer::text::Text;

table! {
    /// The root.
    pub struct QnnExecuTorchOptions<'a> {
        /// The SoC.
        pub soc_info: Option<SocInfo>,
        /// The settings of the backend.
        pub backend_options: Option<QnnExecuTorchBackendOptions>,
        /// The path of the backend's library.
        pub library_path: Option<Text<'a>>,
        /// The level of messages.
        pub log_level: i32,
        /// `true` if the graph is compiled on the device.
        pub online_prepare: bool,
    }
}

table! {
    /// The SoC.
    pub struct SocInfo {
        /// The model.
        pub soc_model: QcomChipset,
        /// Its tensor processor.
        pub htp_info: Option<HtpInfo>,
    }
}

table! {
    /// The tensor processor of a SoC.
    pub struct HtpInfo {
        /// The number of the architecture: 75 for V75.
        pub htp_arch: i32,
        /// The size of the tightly coupled memory, in megabytes.
        pub vtcm_size_in_mb: u32,
    }
}

table! {
    /// The settings of the backend.
    pub struct QnnExecuTorchBackendOptions {
        /// The processor.
        pub backend_type: QnnExecuTorchBackendType,
        /// The settings of the tensor processor.
        pub htp_options: Option<QnnExecuTorchHtpBackendOptions>,
    }
}

table! {
    /// The settings of the tensor processor.
    pub struct QnnExecuTorchHtpBackendOptions {
        /// The largest buffer for spilled values.
        pub max_sf_buf_size: i32,
        /// The mode of performance.
        pub performance_mode: i32,
        /// 0 for quantized numbers, 1 for half precision.
        pub precision: i32,
    }
}

named! {
    /// A processor.
    pub struct QnnExecuTorchBackendType(i32) {
        /// Not set
        UNDEFINED = 0,
        /// The GPU
        GPU = 1,
        /// The tensor processor
        HTP = 2,
        /// The signal processor
        DSP = 3,
        /// The low-power audio processor
        LPAI = 4,
    }
}

named! {
    /// A model of a SoC.
    pub struct QcomChipset(i32) {
        /// Not set
        UNKNOWN_SM = 0,
        /// SM8350
        SM8350 = 30,
        /// SM8450
        SM8450 = 36,
        /// SA8295
        SA8295 = 39,
        /// SM8475
        SM8475 = 42,
        /// SM8550
        SM8550 = 43,
        /// SXR1230P
        SXR1230P = 45,
        /// SSG2115P
        SSG2115P = 46,
        /// SA8255
        SA8255 = 52,
        /// SXR2230P
        SXR2230P = 53,
        /// SM8650
        SM8650 = 57,
        /// SSG2125P
        SSG2125P = 58,
        /// SC8380XP
        SC8380XP = 60,
        /// SM8750
        SM8750 = 69,
        /// SA8797
        SA8797 = 72,
        /// SXR2330P
        SXR2330P = 75,
        /// QCS9100
        QCS9100 = 77,
        /// SM8850
        SM8850 = 87,
        /// QCM6490
        QCM6490 = 93,
        /// SAR2230P
        SAR2230P = 95,
        /// SW6100
        SW6100 = 96,
        /// SM8845
        SM8845 = 97,
    }
}
