/* A stand-in for TFLM's resolver: it counts. */
#ifndef STANDIN_MICRO_MUTABLE_OP_RESOLVER_H
#define STANDIN_MICRO_MUTABLE_OP_RESOLVER_H

enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1 };

namespace tflite {

class MicroOpResolver {
public:
    virtual unsigned size() const = 0;
    virtual ~MicroOpResolver() {}
    void operator delete(void *) {}
};

template <unsigned int tOpCount> class MicroMutableOpResolver : public MicroOpResolver {
public:
    unsigned size() const override { return added_; }
    void operator delete(void *) {}
    TfLiteStatus AddConv2D() { return Add(); }
    TfLiteStatus AddDepthwiseConv2D() { return Add(); }
    TfLiteStatus AddFullyConnected() { return Add(); }
    TfLiteStatus AddMean() { return Add(); }
    TfLiteStatus AddSoftmax() { return Add(); }

private:
    TfLiteStatus Add() { return added_++ < tOpCount ? kTfLiteOk : kTfLiteError; }
    unsigned added_ = 0;
};

} // namespace tflite

#endif
