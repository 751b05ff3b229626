import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLoadData;
import org.apache.pulsar.broker.loadbalance.extensions.reporter.BrokerLoadDataReporter;

/** The figures of a broker of the extensible manager, and when they are reported. */
final class LoadAverages {
    private LoadAverages() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        return kind.equals("broker_load_update") ? updates(in) : Json.MAPPER.createObjectNode().put("write", written(in));
    }

    private static ObjectNode updates(JsonNode in) {
        var data = new BrokerLoadData();
        var settings = Json.settings(in);
        return Json.steps(in, step -> {
            if (step.path("clear").asBoolean()) {
                data.clear();
            } else {
                data.update(Leader.system(step), Json.number(step, "thrIn"), Json.number(step, "thrOut"),
                        Json.number(step, "rateIn"), Json.number(step, "rateOut"), 1, 1, settings);
            }
            var answer = Json.MAPPER.createObjectNode();
            answer.set("max", Json.number(data.getMaxResourceUsage()));
            answer.set("weightedMaxEMA", Json.number(data.getWeightedMaxEMA()));
            answer.set("msgThroughputEMA", Json.number(data.getMsgThroughputEMA()));
            return answer;
        });
    }

    private static boolean written(JsonNode in) {
        BrokerLoadDataReporter reporter = Json.bare(BrokerLoadDataReporter.class);
        BrokerLoadData now = reported(in.get("now"));
        now.setReportedAt(System.currentTimeMillis() - in.get("ageMs").asLong());
        Json.set(reporter, "conf", Json.settings(in));
        Json.set(reporter, "localData", now);
        Json.set(reporter, "lastData", reported(in.get("last")));
        return Json.call(reporter, BrokerLoadDataReporter.class, "needBrokerDataUpdate", new Class<?>[0]);
    }

    private static BrokerLoadData reported(JsonNode entry) {
        var made = new BrokerLoadData();
        Json.set(made, "maxResourceUsage", Json.number(entry, "max"));
        Json.set(made, "msgRateIn", Json.number(entry, "rateIn"));
        Json.set(made, "msgRateOut", Json.number(entry, "rateOut"));
        Json.set(made, "msgThroughputIn", Json.number(entry, "thrIn"));
        Json.set(made, "msgThroughputOut", Json.number(entry, "thrOut"));
        Json.set(made, "bundleCount", bundles(entry.get("numBundles").asLong()));
        return made;
    }

    /** A number of bundles, which earlier releases keep as an int. */
    private static Object bundles(long count) {
        boolean isInt = Json.declared(BrokerLoadData.class, "bundleCount").getType() == int.class;
        return isInt ? (Object) (int) count : (Object) count;
    }
}
