# A Homebrew formula. No archive is published yet: make dist gives one. Put its address and sha256 here, then
#   brew install --build-from-source ./packaging/ingot.rb
class Ingot < Formula
  desc "Lazy arrays with gradients, on CPU, CUDA, Metal and OpenCL"
  homepage "https://ingot.invalid"
  url "https://ingot.invalid/ingot-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  uses_from_macos "libedit"

  def install
    system "make", "install", "PREFIX=#{prefix}"
  end

  test do
    assert_equal "ingot #{version}", shell_output("#{bin}/ingot --version").strip
    assert_equal "6", shell_output("#{bin}/ingot eval 'sum(arange(4))'").strip
    (testpath/"main.c").write <<~C
      #include <ingot.h>
      int main(void) { return ig_device_count() < 1; }
    C
    system ENV.cc, "main.c", "-I#{include}", "-L#{lib}", "-lingot", "-o", "main"
    system "./main"
  end
end
