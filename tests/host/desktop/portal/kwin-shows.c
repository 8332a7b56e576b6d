/*
 * Has KWin 5.27 without a screen (kwin_wayland --virtual) say that its output has changed, as it does with a screen: without that, whoever asks
 * for its pictures gets none. Loaded into it by LD_PRELOAD; the names are those of its C++ functions.
 *
 * Pictures are taken of the framebuffer that is bound, which with a screen is that of the output. So the first one that is bound, which is
 * that of the only output, stays bound below all others.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static void *function(void *where, const char *name) {
    void *found = dlsym(where, name);
    if (!found) abort();
    return found;
}

/* The output whose pictures are asked for, and the lowest framebuffer. */
static void *output, *lowest;
static int depth;

/* QSize KWin::Output::pixelSize() const: width and height, of 32 bits each */
long _ZNK4KWin6Output9pixelSizeEv(void *self) {
    static long (*real)(void *);
    if (!real) real = function(RTLD_NEXT, "_ZNK4KWin6Output9pixelSizeEv");
    output = self;
    return real(self);
}

/* void KWin::Output::outputChange(const QRegion &) */
static void say_changed(void) {
    static void (*changed)(void *, void *), (*region)(void *, int, int, int, int, int), (*free_region)(void *);
    if (!changed) {
        changed = function(RTLD_DEFAULT, "_ZN4KWin6Output12outputChangeERK7QRegion");
        region = function(RTLD_DEFAULT, "_ZN7QRegionC1EiiiiNS_10RegionTypeE");
        free_region = function(RTLD_DEFAULT, "_ZN7QRegionD1Ev");
    }
    long size = _ZNK4KWin6Output9pixelSizeEv(output);
    void *all;
    region(&all, 0, 0, (int)size, (int)(size >> 32), 0);
    changed(output, &all);
    free_region(&all);
}

/* void KWin::GLFramebuffer::pushFramebuffer(KWin::GLFramebuffer *) */
void _ZN4KWin13GLFramebuffer15pushFramebufferEPS0_(void *framebuffer) {
    static void (*real)(void *);
    if (!real) real = function(RTLD_NEXT, "_ZN4KWin13GLFramebuffer15pushFramebufferEPS0_");
    if (!lowest) real(lowest = framebuffer);
    depth++;
    real(framebuffer);
}

/* KWin::GLFramebuffer *KWin::GLFramebuffer::popFramebuffer() */
void *_ZN4KWin13GLFramebuffer14popFramebufferEv(void) {
    static void *(*real)(void);
    if (!real) real = function(RTLD_NEXT, "_ZN4KWin13GLFramebuffer14popFramebufferEv");
    void *framebuffer = real();
    if (--depth == 0 && framebuffer == lowest && output) say_changed();
    return framebuffer;
}
