// Preloaded where the thread sanitizer watches: libuv closes descriptors by syscall(SYS_close),
// which the sanitizer does not see. A number would stay with the thread that opened it first, and a
// race be reported when another gets it anew.
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

// Of the program, if the sanitizer is in it.
__attribute__((weak)) void __sanitizer_syscall_pre_impl_close(long descriptor);

typedef long (*system_call)(long, long, long, long, long, long, long);

long syscall(long number, ...)
{
    system_call call;
    *(void **)&call = dlsym(RTLD_NEXT, "syscall");
    va_list list;
    va_start(list, number);
    long given[6];
    for (int i = 0; i < 6; i++) {
        given[i] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_close && __sanitizer_syscall_pre_impl_close) {
        __sanitizer_syscall_pre_impl_close(given[0]);
    }
    return call(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
