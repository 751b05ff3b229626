import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.apache.pulsar.broker.loadbalance.impl.AvgShedder;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;

/** {@code AvgShedder}, which sheds and places. */
final class Average {
    private Average() {
    }

    private static final int DRAWS_PER_CANDIDATE = 40;

    static ObjectNode answer(String kind, JsonNode in) {
        var leader = new Leader();
        var shedder = new AvgShedder();
        var settings = Json.settings(in);
        Map<BundleData, String> destinations = Json.field(shedder, "bundleBrokerMap");
        return Json.steps(in, step -> {
            leader.take(step);
            var answer = Json.MAPPER.createObjectNode();
            if (step.path("op").asText().equals("place")) {
                BundleData bundle = leader.bundleOrDefault(step.get("bundle").asText());
                var candidates = Json.hashSet(Json.texts(step.get("candidates")));
                var before = new HashMap<>(destinations);
                var seen = new TreeSet<String>();
                String picked = null;
                try {
                    for (int draw = 0; draw < DRAWS_PER_CANDIDATE * Math.max(1, candidates.size()); draw++) {
                        destinations.clear();
                        destinations.putAll(before);
                        picked = shedder.selectBroker(candidates, bundle, leader.data, settings).get();
                        seen.add(picked);
                    }
                } catch (RuntimeException error) {
                    return answer.put("error", error.getClass().getSimpleName());
                }
                answer.set("answers", Json.array(seen));
                return answer.put("picked", picked);
            }
            var found = shedder.findBundlesForUnloading(leader.data, settings);
            answer.set("unload", Shedders.unloads(found));
            var planned = answer.putObject("destination");
            for (String name : found.values()) {
                planned.put(name, destinations.get(leader.data.getBundleData().get(name)));
            }
            answer.set("high", Json.MAPPER.valueToTree(counts(Json.field(shedder, "brokerHitCountForHigh"))));
            answer.set("low", Json.MAPPER.valueToTree(counts(Json.field(shedder, "brokerHitCountForLow"))));
            return answer;
        });
    }

    private static Map<String, Integer> counts(Map<String, ? extends Number> hits) {
        Map<String, Integer> plain = new HashMap<>();
        hits.forEach((name, count) -> plain.put(name, count.intValue()));
        return plain;
    }
}
