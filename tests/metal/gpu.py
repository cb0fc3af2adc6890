"""The simulated GPU from Python, by the messages that a program for Metal sends: sources in Metal's language, and launches."""
import contextlib
import ctypes
import os

from simulated import FOLDER, settings

SHARED_STORAGE, UTF8, VERSION_2_3, COMPLETED = 0, 4, 0x20003, 4
ID, WORD = ctypes.c_void_p, ctypes.c_ulong


class Refused(Exception):
    """What Metal says against a source or a kernel, or why a launch failed."""


class Size(ctypes.Structure):
    """MTLSize"""
    _fields_ = [("x", WORD), ("y", WORD), ("z", WORD)]


class Gpu:
    """The settings are environment variables of the simulator; see sim.h."""

    def __init__(self, **more):
        os.environ.update(settings(**{"METALSIM_LEAKS": 0, **more}))
        self.code = ctypes.CDLL(os.path.join(FOLDER, "libmetalsim.so"), mode=ctypes.RTLD_GLOBAL)
        self.code.objc_getClass.restype = self.code.sel_registerName.restype = ID
        self.code.objc_autoreleasePoolPush.restype = self.code.MTLCreateSystemDefaultDevice.restype = ID
        self.device = self.code.MTLCreateSystemDefaultDevice()
        self.queue = self.send(ID, self.device, "newCommandQueue")

    def send(self, result, target, selector, *arguments):
        """Arguments are pairs of a type and a value."""
        call = ctypes.CFUNCTYPE(result, ID, ID, *[kind for kind, _ in arguments])(("objc_msgSend", self.code))
        name = ctypes.c_void_p(self.code.sel_registerName(selector.encode()))
        return call(target, name, *[value for _, value in arguments])

    @contextlib.contextmanager
    def pool(self):
        """Objects without an owner live until the end of the pool."""
        pool = ctypes.c_void_p(self.code.objc_autoreleasePoolPush())
        try:
            yield
        finally:
            self.code.objc_autoreleasePoolPop(pool)

    def object_of(self, name):
        return ctypes.c_void_p(self.code.objc_getClass(name.encode()))

    def string(self, text):
        return self.send(ID, self.object_of("NSString"), "stringWithCString:encoding:", (ctypes.c_char_p, text.encode()), (WORD, UTF8))

    def refuse(self, error):
        text = self.send(ID, error, "localizedDescription") if error else None
        said = self.send(ctypes.c_char_p, text, "UTF8String") if text else b"no reason"
        raise Refused(said.decode())

    def library(self, source):
        """Compiles a source. Fast math is off."""
        with self.pool():
            error = ID()
            options = self.send(ID, self.send(ID, self.object_of("MTLCompileOptions"), "alloc"), "init")
            self.send(None, options, "setFastMathEnabled:", (ctypes.c_bool, False))
            self.send(None, options, "setLanguageVersion:", (WORD, VERSION_2_3))
            made = self.send(ID, self.device, "newLibraryWithSource:options:error:", (ID, self.string(source)), (ID, options),
                             (ID, ctypes.addressof(error)))
            return made or self.refuse(error.value)

    def pipeline(self, library, kernel):
        with self.pool():
            error = ID()
            function = self.send(ID, library, "newFunctionWithName:", (ID, self.string(kernel)))
            if not function:
                raise Refused(f"the library has no kernel {kernel}")
            made = self.send(ID, self.device, "newComputePipelineStateWithFunction:error:", (ID, function),
                             (ID, ctypes.addressof(error)))
            return made or self.refuse(error.value)

    def bind(self, encoder, index, data):
        """A bytearray becomes a buffer, which is returned; bytes are passed by value."""
        if isinstance(data, bytes) and len(data) <= 4096:
            self.send(None, encoder, "setBytes:length:atIndex:", (ctypes.c_char_p, data), (WORD, len(data)), (WORD, index))
            return None
        buffer = self.send(ID, self.device, "newBufferWithLength:options:", (WORD, max(len(data), 1)), (WORD, SHARED_STORAGE))
        ctypes.memmove(self.send(ID, buffer, "contents"), bytes(data), len(data))
        self.send(None, encoder, "setBuffer:offset:atIndex:", (ID, buffer), (WORD, 0), (WORD, index))
        return buffer

    def launch(self, pipeline, groups, threads, arguments, shared=()):
        """Runs threadgroups. Arguments are by index: bytes, or bytearrays, into which what the kernel wrote is copied.
        `shared` has the bytes of threadgroup memory by index."""
        with self.pool():
            commands = self.send(ID, self.queue, "commandBuffer")
            encoder = self.send(ID, commands, "computeCommandEncoder")
            self.send(None, encoder, "setComputePipelineState:", (ID, pipeline))
            buffers = {index: self.bind(encoder, index, data) for index, data in arguments.items()}
            for index, count in enumerate(shared):
                self.send(None, encoder, "setThreadgroupMemoryLength:atIndex:", (WORD, count), (WORD, index))
            self.send(None, encoder, "dispatchThreadgroups:threadsPerThreadgroup:", (Size, Size(*groups)), (Size, Size(*threads)))
            self.send(None, encoder, "endEncoding")
            self.send(None, commands, "commit")
            self.send(None, commands, "waitUntilCompleted")
            if self.send(WORD, commands, "status") != COMPLETED:
                self.refuse(self.send(ID, commands, "error"))
            for index, buffer in buffers.items():
                if buffer and isinstance(arguments[index], bytearray):
                    arguments[index][:] = ctypes.string_at(self.send(ID, buffer, "contents"), len(arguments[index]))
