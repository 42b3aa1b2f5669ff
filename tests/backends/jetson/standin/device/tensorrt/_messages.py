"""What the library's logger is told, in words that resemble its own (public logs of several releases)."""

NO_IMPLICIT_BATCH = (
    "This version of the ONNX parser only supports TensorRT INetworkDefinitions with an explicit batch "
    "dimension. Please ensure the network was created using the "
    "NetworkDefinitionCreationFlag::kEXPLICIT_BATCH flag."
)
ASYMMETRIC = (
    "TensorRT only supports symmetric quantization. The zero point for the "
    "QuantizeLinear/DequantizeLinear operator must be all zeros."
)
INTEGER_BIAS = "{}: only activation types allowed as input to this layer."
NO_OUTPUT = (
    "4: [network.cpp::validate::2631] Error Code 4: Internal Error (Network must have at least one output)"
)
NO_PROFILE = (
    "4: [network.cpp::validate::2770] Error Code 4: Internal Error (Network has dynamic or shape inputs, "
    "but no optimization profile has been defined.)"
)
STRONGLY_TYPED = (
    "IBuilder::buildSerializedNetwork: Error Code 3: API Usage Error ({} flag is set on a strongly typed "
    "network)"
)
NOT_CONFIGURED = (
    "4: [network.cpp::validate::2633] Error Code 4: Internal Error ({0} precision has been set for a "
    "layer or layer output, but {0} is not configured in the builder)"
)
LITTLE_MEMORY = (
    "Tactic Device request: 2457MB Available: 1536MB. Device memory is insufficient to use tactic."
)
OUT_OF_MEMORY = (
    "2: [virtualMemoryBuffer.cpp::resizePhysical::145] Error Code 2: OutOfMemory (no further information)"
)
NO_IMPLEMENTATION = (
    "10: [optimizer.cpp::computeCosts::3628] Error Code 10: Internal Error (Could not find any "
    "implementation for node {}.)"
)
NO_NATIVE_INT8 = (
    "Int8 support requested on hardware without native Int8 support, performance will be negatively affected."
)
NO_CALIBRATOR = (
    "Calibrator is not being used. Users must provide dynamic range for all tensors that are not Int32 or"
    " Bool."
)
NO_RANGES = (
    "4: [standardEngineBuilder.cpp::initCalibrationParams::1420] Error Code 4: Internal Error "
    "(Calibration failure occurred with no scaling factors detected. This could be due to no int8 "
    "calibrator or insufficient custom scales for network layers.)"
)
BAD_BATCH = (
    "1: [calibrator.cpp::calibrateEngine::1128] Error Code 1: Cuda Runtime (an illegal memory access was "
    "encountered)"
)
NO_BATCHES = (
    "2: [calibrator.cpp::calibrateEngine::1160] Error Code 2: Internal Error (Assertion "
    "context->executeV2(&bindings[0]) failed. )"
)
NO_ENGINE = (
    "4: [runtime.cpp::deserializeCudaEngine::50] Error Code 4: Internal Error (Engine deserialization "
    "failed.)"
)
BAD_MAGIC = (
    "1: [stdArchiveReader.cpp::StdArchiveReader::35] Error Code 1: Serialization (Serialization assertion"
    " magicTagRead == kMAGIC_TAG failed.Magic tag does not match)"
)
OTHER_VERSION = (
    "6: The engine plan file is not compatible with this version of TensorRT, expecting library version "
    "{} got {}, please rebuild."
)
OTHER_DEVICE = (
    "6: The engine plan file is generated on an incompatible device, expecting compute {} got compute {},"
    " please rebuild."
)
OTHER_MODEL = (
    "Using an engine plan file across different models of devices is not recommended and is likely to "
    "affect performance or even cause errors."
)
NO_CONTEXT = "1: [defaultAllocator.cpp::allocate::20] Error Code 1: Cuda Runtime (out of memory)"
MISUSE = "3: [executionContext.cpp::enqueue::1] Error Code 3: API Usage Error ({})"
NO_DEVICE = "CUDA initialization failure with error: {}"
