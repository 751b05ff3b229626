import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Reads cases as JSON lines, runs Pulsar's own classes on each, and writes the same lines with what they answered. */
public class Vectors {
    /** Each class is compiled by itself: a release that lacks what one of them is about has the others. */
    private static final Map<String, String> ANSWERS = Map.ofEntries(
            Map.entry("map_order", "MapOrders"),
            Map.entry("partition_sort", "TopBundles"),
            Map.entry("top_bundles", "LargestBundles"),
            Map.entry("shed_overload", "Shedders"),
            Map.entry("shed_uniform", "Shedders"),
            Map.entry("shed_threshold", "Shedders"),
            Map.entry("shed_avg", "Average"),
            Map.entry("place_avg", "Average"),
            Map.entry("place_least_rate", "Placements"),
            Map.entry("place_least_resource", "Placements"),
            Map.entry("place_least_resource_extensible", "LeastLoad"),
            Map.entry("round_robin", "RoundRobin"),
            Map.entry("transfer_shedder", "Transfers"),
            Map.entry("most_servicing", "MostServicing"),
            Map.entry("topic_count_modular", "Filters"),
            Map.entry("class_filter", "Filters"),
            Map.entry("version_filter", "Filters"),
            Map.entry("topic_count_extensible", "ExtensibleFilters"),
            Map.entry("version_filter_extensible", "ExtensibleFilters"),
            Map.entry("anti_affinity", "AntiAffinity"),
            Map.entry("anti_affinity_unload", "AntiAffinity"),
            Map.entry("percent_usage", "Figures"),
            Map.entry("max_usage", "Figures"),
            Map.entry("time_average_broker", "Figures"),
            Map.entry("report_modular", "Figures"),
            Map.entry("broker_load_update", "LoadAverages"),
            Map.entry("report_extensible", "LoadAverages"),
            Map.entry("modular_cycle", "Cycle"),
            Map.entry("failover_sequences", "Dispatcher"),
            Map.entry("keyshared_consistent", "Selectors"),
            Map.entry("keyshared_autosplit", "Selectors"),
            Map.entry("keyshared_sticky", "Selectors"),
            Map.entry("split_range", "Splits"),
            Map.entry("split_topic_count", "Splits"),
            Map.entry("split_specified", "Splits"),
            Map.entry("split_flow_qps", "FlowSplits"));

    public static void main(String[] arguments) {
        int status = 0;
        try {
            answerAll();
        } catch (Exception | LinkageError error) {
            error.printStackTrace();
            status = 1;
        }
        System.exit(status); // threads that Pulsar's classes have started do not matter
    }

    private static void answerAll() throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var lines = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            var vector = (ObjectNode) Json.MAPPER.readTree(line);
            var answering = Class.forName(ANSWERS.get(vector.get("kind").asText()));
            var method = answering.getDeclaredMethod("answer", String.class, JsonNode.class);
            vector.set("out", answer(method, vector));
            lines.println(Json.MAPPER.writeValueAsString(vector));
        }
        lines.flush();
    }

    /** What Pulsar answers, or which class of another release it misses on the way there. */
    private static ObjectNode answer(Method method, ObjectNode vector) throws Exception {
        try {
            return (ObjectNode) method.invoke(null, vector.get("kind").asText(), vector.get("in"));
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof LinkageError lacking) {
                return Json.MAPPER.createObjectNode().put("lacking", lacking.toString());
            }
            throw error;
        }
    }
}
