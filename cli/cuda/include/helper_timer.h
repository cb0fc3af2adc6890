/* The timers of the CUDA samples, in milliseconds. */
#ifndef INGOT_HELPER_TIMER_H
#define INGOT_HELPER_TIMER_H

#include <chrono>

class StopWatchInterface
{
    typedef std::chrono::steady_clock clock;
    clock::time_point begin;
    double total = 0, last = 0;
    unsigned n = 0;
    bool runs = false;

    double since() const
    {
        return std::chrono::duration<double, std::milli>(clock::now() - begin).count();
    }

  public:
    void start()
    {
        begin = clock::now();
        runs = true;
    }
    void stop()
    {
        last = since();
        total += last;
        n++;
        runs = false;
    }
    void reset()
    {
        total = last = 0;
        n = 0;
        begin = clock::now();
    }
    float getTime() const { return (float)(total + (runs ? since() : 0)); }
    float getAverageTime() const { return n ? (float)(total / n) : 0.0f; }
};
typedef StopWatchInterface StopWatch;

inline bool sdkCreateTimer(StopWatchInterface **t)
{
    *t = new StopWatchInterface;
    return true;
}
inline bool sdkDeleteTimer(StopWatchInterface **t)
{
    delete *t;
    *t = nullptr;
    return true;
}
inline bool sdkStartTimer(StopWatchInterface **t)
{
    if (*t)
        (*t)->start();
    return true;
}
inline bool sdkStopTimer(StopWatchInterface **t)
{
    if (*t)
        (*t)->stop();
    return true;
}
inline bool sdkResetTimer(StopWatchInterface **t)
{
    if (*t)
        (*t)->reset();
    return true;
}
inline float sdkGetTimerValue(StopWatchInterface **t) { return *t ? (*t)->getTime() : 0.0f; }
inline float sdkGetAverageTimerValue(StopWatchInterface **t)
{
    return *t ? (*t)->getAverageTime() : 0.0f;
}

#endif
