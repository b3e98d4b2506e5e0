// Reads the exports of histograms with HdrHistogram's Java package, and prints what it finds:
// a line for each interval of a log, then the percentile distribution of an encoded histogram.
//
//   java -cp hdrhistogram.jar ReadHistograms.java FILE.hlog ENCODED

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;

public class ReadHistograms {
    public static void main(String[] args) throws Exception {
        HistogramLogReader log = new HistogramLogReader(new File(args[0]));
        EncodableHistogram next;
        while ((next = log.nextIntervalHistogram()) != null) {
            Histogram interval = (Histogram) next;
            System.out.printf(
                "%s %d %d %d %d %d %d%n",
                interval.getTag() == null ? "-" : interval.getTag(),
                interval.getStartTimeStamp(),
                interval.getEndTimeStamp(),
                interval.getTotalCount(),
                interval.getValueAtPercentile(50),
                interval.getValueAtPercentile(90),
                interval.getValueAtPercentile(99));
        }
        System.out.println("distribution");
        byte[] bytes = Base64.getDecoder().decode(Files.readString(Path.of(args[1])).trim());
        Histogram whole = Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(bytes), 1);
        whole.outputPercentileDistribution(System.out, 5, 1e6);
    }
}
