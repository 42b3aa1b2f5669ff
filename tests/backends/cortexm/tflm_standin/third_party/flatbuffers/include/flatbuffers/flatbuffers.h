/* A stand-in: TFLM's headers include this one. */
#define STANDIN_FLATBUFFERS 1
