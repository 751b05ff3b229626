import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.loadbalance.extensions.BrokerRegistry;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLoadData;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLookupData;
import org.apache.pulsar.broker.loadbalance.extensions.data.TopBundlesLoadData;
import org.apache.pulsar.broker.loadbalance.extensions.models.UnloadCounter;
import org.apache.pulsar.broker.loadbalance.extensions.models.UnloadDecision;
import org.apache.pulsar.broker.loadbalance.extensions.scheduler.TransferShedder;
import org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats;

/** {@code TransferShedder}, whose stores and registry are plain maps here. */
final class Transfers {
    private Transfers() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        var settings = Json.settings(in);
        Map<String, BrokerLoadData> loads = new ConcurrentHashMap<>();
        Map<String, TopBundlesLoadData> tops = new ConcurrentHashMap<>();
        Map<String, Long> recentBundles = new HashMap<>();
        Map<String, Long> recentBrokers = new HashMap<>();
        Set<String> hidden = new HashSet<>();
        var counter = new UnloadCounter();
        var shedder = new TransferShedder(counter);
        if (in.has("policies")) {
            Json.call(null, Json.named("TransferPolicies"), "give",
                    new Class<?>[] {TransferShedder.class, JsonNode.class}, shedder, in.get("policies"));
        }
        long begun = System.currentTimeMillis();
        return Json.steps(in, step -> {
            if (step.has("loads")) {
                Json.replace(loads, Json.named(step.get("loads"), "broker", entry -> brokerLoad(entry, begun)));
            }
            if (step.has("top")) {
                Map<String, TopBundlesLoadData> reported = new LinkedHashMap<>();
                step.get("top").fields().forEachRemaining(each -> reported.put(each.getKey(), top(each.getValue())));
                Json.replace(tops, reported);
            }
            if (step.has("recentBundles")) {
                recentBundles.clear();
                Json.texts(step.get("recentBundles")).forEach(name -> recentBundles.put(name, begun));
            }
            if (step.has("recentBrokers")) {
                recentBrokers.clear();
                step.get("recentBrokers").fields().forEachRemaining(
                        each -> recentBrokers.put(each.getKey(), begun + each.getValue().asLong()));
            }
            if (step.has("hidden")) {
                hidden.clear();
                hidden.addAll(Json.texts(step.get("hidden")));
            }
            Map<String, BrokerLookupData> available = new HashMap<>();
            Json.texts(step.get("available")).forEach(name -> available.put(name, null));
            BrokerRegistry registry = Stand.in(BrokerRegistry.class, (method, given) -> switch (method) {
                case "getAvailableBrokerLookupDataAsync" -> CompletableFuture.completedFuture(available);
                case "getAvailableBrokersAsync" ->
                        CompletableFuture.completedFuture(new ArrayList<>(available.keySet()));
                default -> throw new UnsupportedOperationException(method);
            });
            var context = Context.of(
                    settings, Context.store(loads, hidden), Context.store(tops, Set.of()), registry);
            var before = breakdown(counter);
            var found = shedder.findBundlesForUnloading(context, recentBundles, recentBrokers);
            return answered(shedder, counter, before, found, recentBrokers);
        });
    }

    private static ObjectNode answered(
            TransferShedder shedder, UnloadCounter counter, Map<String, Long> before,
            Set<UnloadDecision> found, Map<String, Long> recentBrokers) {
        var answer = Json.MAPPER.createObjectNode();
        var decisions = new TreeSet<String>();
        Map<String, ArrayNode> written = new HashMap<>();
        for (UnloadDecision decision : found) {
            var unload = decision.getUnload();
            var row = Json.MAPPER.createArrayNode();
            row.add(unload.serviceUnit()).add(unload.sourceBroker()).add(unload.destBroker().orElse(null));
            row.add(decision.getReason().toString());
            decisions.add(row.toString());
            written.put(row.toString(), row);
        }
        var rows = answer.putArray("decisions");
        decisions.forEach(text -> rows.add(written.get(text)));
        var counted = answer.putObject("counted");
        breakdown(counter).forEach((label, count) -> {
            long more = count - before.getOrDefault(label, 0L);
            if (more != 0) {
                counted.put(label, more);
            }
        });
        answer.put("hits", Json.<Integer>field(shedder, "unloadConditionHitCount"));
        answer.set("avg", Json.number(counter.getLoadAvg()));
        answer.set("std", Json.number(counter.getLoadStd()));
        answer.set("recentBrokers", Json.array(new TreeSet<>(recentBrokers.keySet())));
        return answer;
    }

    private static Map<String, Long> breakdown(UnloadCounter counter) {
        Map<String, Long> counts = new HashMap<>();
        counter.getBreakdownCounters().forEach((label, reasons) -> reasons.forEach(
                (reason, count) -> counts.put(label + "/" + reason, count.get())));
        return counts;
    }

    private static BrokerLoadData brokerLoad(JsonNode entry, long begun) {
        var made = new BrokerLoadData();
        Json.set(made, "weightedMaxEMA", Json.number(entry, "load"));
        Json.set(made, "msgThroughputIn", Json.number(entry, "thrIn"));
        Json.set(made, "msgThroughputOut", Json.number(entry, "thrOut"));
        Json.set(made, "msgThroughputEMA", Json.number(entry, "thrEma"));
        Json.set(made, "updatedAt", begun + entry.path("updatedAt").asLong());
        return made;
    }

    private static TopBundlesLoadData top(JsonNode rows) {
        var made = new TopBundlesLoadData();
        for (JsonNode row : rows) {
            var stats = new NamespaceBundleStats();
            stats.msgThroughputIn = Json.number(row.get(1));
            stats.msgThroughputOut = Json.number(row.get(2));
            made.getTopBundlesLoadData().add(new TopBundlesLoadData.BundleLoadData(row.get(0).asText(), stats));
        }
        return made;
    }
}
